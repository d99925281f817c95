// The schema of both engines. A version's statements run once each, in this order, before any data of that version
// is written; every one may be repeated. A later version adds blocks `schema_v2_...!` and changes none of these.

// name: schema_version
// The version of the schema that this database has; no row: none yet.
MATCH (schema:Schema {id: 'schema'}) RETURN schema.version AS version

// name: set_schema_version!
// Told last, when all statements of that version have run.
// $version: integer
MERGE (schema:Schema {id: 'schema'})
SET schema.scope = 'database', schema.version = $version

// name: schema_v1_schema_id!
// One Schema node, even when two processes open a fresh database at once.
CREATE CONSTRAINT schema_id IF NOT EXISTS FOR (node:Schema) REQUIRE node.id IS UNIQUE

// name: schema_v1_instance_id!
// An instance's id is its scope too.
CREATE CONSTRAINT instance_id IF NOT EXISTS FOR (node:Instance) REQUIRE node.id IS UNIQUE

// name: schema_v1_iteration_id!
// `SCOPE/iteration-N`: an iteration is applied once.
CREATE CONSTRAINT iteration_id IF NOT EXISTS FOR (node:Iteration) REQUIRE node.id IS UNIQUE

// name: schema_v1_state_id!
// `SCOPE/S1`
CREATE CONSTRAINT state_id IF NOT EXISTS FOR (node:State) REQUIRE node.id IS UNIQUE

// name: schema_v1_todo_id!
// `SCOPE/a7`
CREATE CONSTRAINT todo_id IF NOT EXISTS FOR (node:Todo) REQUIRE node.id IS UNIQUE

// name: schema_v1_step_id!
// `SCOPE/step-N`: a step's number is given once.
CREATE CONSTRAINT step_id IF NOT EXISTS FOR (node:Step) REQUIRE node.id IS UNIQUE

// name: schema_v1_episode_id!
// `SCOPE/HASH`, of what was recorded: the same trajectory is stored once.
CREATE CONSTRAINT episode_id IF NOT EXISTS FOR (node:Episode) REQUIRE node.id IS UNIQUE

// name: schema_v1_entity_id!
// A hash of scope and key: index keys are limited to about 8 kB, names are not.
CREATE CONSTRAINT entity_id IF NOT EXISTS FOR (node:Entity) REQUIRE node.id IS UNIQUE

// name: schema_v1_template_id!
// A hash of scope and class.
CREATE CONSTRAINT template_id IF NOT EXISTS FOR (node:Template) REQUIRE node.id IS UNIQUE

// name: schema_v1_fact_id!
// The subject's id and a hash of predicate and object: one fact per triplet.
CREATE CONSTRAINT fact_id IF NOT EXISTS FOR ()-[fact:FACT]-() REQUIRE fact.id IS UNIQUE

// name: schema_v1_instance_environment!
// For the sums of templates over an environment.
CREATE INDEX instance_environment IF NOT EXISTS FOR (node:Instance) ON (node.environment)

// name: schema_v1_iteration_scope!
// Everything of one instance, label by label.
CREATE INDEX iteration_scope IF NOT EXISTS FOR (node:Iteration) ON (node.scope)

// name: schema_v1_state_scope!
// Everything of one instance, label by label.
CREATE INDEX state_scope IF NOT EXISTS FOR (node:State) ON (node.scope)

// name: schema_v1_todo_scope!
// Everything of one instance, label by label.
CREATE INDEX todo_scope IF NOT EXISTS FOR (node:Todo) ON (node.scope)

// name: schema_v1_episode_scope!
// Everything of one instance, label by label.
CREATE INDEX episode_scope IF NOT EXISTS FOR (node:Episode) ON (node.scope)

// name: schema_v1_step_scope!
// Everything of one instance, label by label.
CREATE INDEX step_scope IF NOT EXISTS FOR (node:Step) ON (node.scope)

// name: schema_v1_entity_scope!
// Everything of one instance, label by label.
CREATE INDEX entity_scope IF NOT EXISTS FOR (node:Entity) ON (node.scope)

// name: schema_v1_template_scope!
// Everything of one instance, label by label.
CREATE INDEX template_scope IF NOT EXISTS FOR (node:Template) ON (node.scope)
