// Facts: triplets with their history, as relationships between entities.

// name: touched_facts
// Facts by id, read from their subjects: there is no other way to a relationship that does not search through all.
// $rows: [{id, subject}]
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.id}]->(object:Entity)
RETURN properties(fact) AS fact, subject.name AS subject, object.name AS object, object.value AS object_is_value

// name: touched_facts_by_object
// The same from their objects, for many facts of one subject: each would look through all the others.
// $rows: [{id, object}]
UNWIND $rows AS row
MATCH (object:Entity {id: row.object})<-[fact:FACT {id: row.id}]-(subject:Entity)
RETURN properties(fact) AS fact, subject.name AS subject, object.name AS object, object.value AS object_is_value

// name: upsert_entities!
// Entities and values; one that is there keeps the spelling under which it came.
// $rows: [{id, name, key, value}]  $scope: string  $scope_token: string
UNWIND $rows AS row
MERGE (entity:Entity {id: row.id})
ON CREATE SET entity.scope = $scope, entity.scope_token = $scope_token,
              entity.name = row.name, entity.key = row.key, entity.value = row.value
RETURN count(entity) AS written

// name: create_facts!
// New facts. Both ends must exist: a missing end skips its row silently, so the caller compares `written` with the rows
// it sent.
// $rows: [{id, subject, object, predicate, kind, live, added, retired, evidence, retired_evidence}]  $scope: string
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})
MATCH (object:Entity {id: row.object})
CREATE (subject)-[fact:FACT {id: row.id}]->(object)
SET fact.scope = $scope, fact.predicate = row.predicate, fact.kind = row.kind, fact.live = row.live,
    fact.added = row.added, fact.retired = row.retired,
    fact.evidence = row.evidence, fact.retired_evidence = row.retired_evidence
RETURN count(fact) AS written

// name: update_facts!
// Facts that were there, as they are after an iteration; found from their subjects.
// $rows: [{id, subject, kind, live, added, retired, evidence, retired_evidence}]
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.id}]->(:Entity)
SET fact.kind = row.kind, fact.live = row.live, fact.added = row.added, fact.retired = row.retired,
    fact.evidence = row.evidence, fact.retired_evidence = row.retired_evidence
RETURN count(fact) AS written

// name: update_facts_by_object!
// The same, found from their objects.
// $rows: [{id, object, kind, live, added, retired, evidence, retired_evidence}]
UNWIND $rows AS row
MATCH (object:Entity {id: row.object})<-[fact:FACT {id: row.id}]-(:Entity)
SET fact.kind = row.kind, fact.live = row.live, fact.added = row.added, fact.retired = row.retired,
    fact.evidence = row.evidence, fact.retired_evidence = row.retired_evidence
RETURN count(fact) AS written

// name: all_facts
// Every fact of an instance, retired ones too.
// $scope: string
MATCH (subject:Entity {scope: $scope})-[fact:FACT]->(object:Entity)
RETURN properties(fact) AS fact, subject.name AS subject, object.name AS object, object.value AS object_is_value,
       subject.key AS subject_key, object.key AS object_key

// name: live_facts
// What is true now.
// $scope: string
MATCH (subject:Entity {scope: $scope})-[fact:FACT]->(object:Entity)
WHERE fact.live
RETURN properties(fact) AS fact, subject.name AS subject, object.name AS object, object.value AS object_is_value,
       subject.key AS subject_key, object.key AS object_key

// name: facts_as_of
// What was true at the end of an iteration: added by then more often than retired by then.
// $scope: string  $as_of: integer
MATCH (subject:Entity {scope: $scope})-[fact:FACT]->(object:Entity)
WHERE size([n IN fact.added WHERE n <= $as_of]) > size([n IN fact.retired WHERE n <= $as_of])
RETURN properties(fact) AS fact, subject.name AS subject, object.name AS object, object.value AS object_is_value,
       subject.key AS subject_key, object.key AS object_key

// name: entity_facts
// What is true now of one entity, as subject or as object.
// $id: string
MATCH (entity:Entity {id: $id})-[fact:FACT]-(:Entity)
WHERE fact.live
WITH DISTINCT fact
WITH fact, startNode(fact) AS subject, endNode(fact) AS object
RETURN properties(fact) AS fact, subject.name AS subject, object.name AS object, object.value AS object_is_value,
       subject.key AS subject_key, object.key AS object_key

// name: entity_facts_as_of
// What was true of it at the end of an iteration.
// $id: string  $as_of: integer
MATCH (entity:Entity {id: $id})-[fact:FACT]-(:Entity)
WHERE size([n IN fact.added WHERE n <= $as_of]) > size([n IN fact.retired WHERE n <= $as_of])
WITH DISTINCT fact
WITH fact, startNode(fact) AS subject, endNode(fact) AS object
RETURN properties(fact) AS fact, subject.name AS subject, object.name AS object, object.value AS object_is_value,
       subject.key AS subject_key, object.key AS object_key

// name: entities
// Entities and values of an instance.
// $scope: string
MATCH (entity:Entity {scope: $scope})
RETURN entity.name AS name, entity.key AS key, entity.value AS value
ORDER BY value, key
