// What Neo4j needs beyond schema.cypher. The embedded engine gets its full-text index from embedded.sql.

// name: neo4j_schema_v1_entity_name!
// Names of entities, with the scope as a token that no analyser splits.
CREATE FULLTEXT INDEX entity_name IF NOT EXISTS FOR (node:Entity) ON EACH [node.name, node.scope_token]
