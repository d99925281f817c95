// Whole instances, out and in. Out: each kind in one stream, in whatever order the engine gives it, put in order by the
// reader (sorting a million rows is not the server's work). In: everything is new, so nothing is merged.

// name: export_states
// $scope: string
MATCH (state:State {scope: $scope})
OPTIONAL MATCH (todo:Todo)-[:PROMOTED_TO]->(state)
RETURN properties(state) AS state, todo.id AS promoted_from

// name: export_todos
// $scope: string
MATCH (todo:Todo {scope: $scope})<-[:TODO]-(parent)
RETURN properties(todo) AS todo, parent.id AS parent

// name: export_steps
// Every step with the id and the label of what it is a step of.
// $scope: string
MATCH (step:Step {scope: $scope})<-[:STEP]-(parent)
RETURN properties(step) AS step, parent.id AS parent, labels(parent) AS below

// name: export_entities
// $scope: string
MATCH (entity:Entity {scope: $scope})
RETURN entity.name AS name, entity.key AS key, entity.value AS value

// name: begin_import!
// An instance that is none yet: `applied_iteration` is -1 until the last transaction, as in a forgetting.
// $instance: {id, ...}
CREATE (instance:Instance)
SET instance = $instance
RETURN instance.id AS id

// name: lock_import!
// Makes this transaction the only one that writes to the instance, says whether this batch was written before (an
// acknowledgement may be lost), and notes it as written. It is a sign of life too: one from another transaction would
// be in the way of this one.
// $id: string  $token: string  $batch: integer
MATCH (instance:Instance {id: $id})
WITH instance, coalesce(instance.imported, 0) AS done
SET instance.lock = $token, instance.imported = $batch, instance.lease_seen = timestamp()
RETURN properties(instance) AS instance, done, timestamp() AS now

// name: end_import!
// From here on it is an instance.
// $id: string  $applied_iteration: integer
MATCH (instance:Instance {id: $id})
SET instance.applied_iteration = $applied_iteration
REMOVE instance.imported
RETURN instance.id AS id

// name: import_states!
// $rows: [{id, ...}]  $instance: string  $scope: string
UNWIND $rows AS row
MATCH (instance:Instance {id: $instance})
CREATE (instance)-[:HAS_STATE {scope: $scope}]->(state:State)
SET state = row
RETURN count(state) AS written

// name: import_todos!
// Not yet hung into the forest: that is `link_todos`.
// $rows: [{id, ...}]
UNWIND $rows AS row
CREATE (todo:Todo)
SET todo = row
RETURN count(todo) AS written

// name: import_promotions!
// $rows: [{todo, state}]  $scope: string
UNWIND $rows AS row
MATCH (todo:Todo {id: row.todo})
MATCH (state:State {id: row.state})
CREATE (todo)-[:PROMOTED_TO {scope: $scope}]->(state)
RETURN count(state) AS written

// name: import_state_steps!
// $rows: [{parent, step: {id, ...}}]  $scope: string
UNWIND $rows AS row
MATCH (parent:State {id: row.parent})
CREATE (parent)-[:STEP {scope: $scope}]->(step:Step)
SET step = row.step
RETURN count(step) AS written

// name: import_todo_steps!
// $rows: [{parent, step: {id, ...}}]  $scope: string
UNWIND $rows AS row
MATCH (parent:Todo {id: row.parent})
CREATE (parent)-[:STEP {scope: $scope}]->(step:Step)
SET step = row.step
RETURN count(step) AS written

// name: import_episode_steps!
// $rows: [{parent, step: {id, ...}}]  $scope: string
UNWIND $rows AS row
MATCH (parent:Episode {id: row.parent})
CREATE (parent)-[:STEP {scope: $scope}]->(step:Step)
SET step = row.step
RETURN count(step) AS written

// name: import_entities!
// $rows: [{id, name, key, value}]  $scope: string  $scope_token: string
UNWIND $rows AS row
CREATE (entity:Entity)
SET entity = row, entity.scope = $scope, entity.scope_token = $scope_token
RETURN count(entity) AS written

// name: import_facts!
// $rows: [{subject, object, fact: {id, ...}}]
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})
MATCH (object:Entity {id: row.object})
CREATE (subject)-[fact:FACT]->(object)
SET fact = row.fact
RETURN count(fact) AS written

// name: import_iterations!
// $rows: [{id, n, ...}]  $instance: string  $scope: string
UNWIND $rows AS row
MATCH (instance:Instance {id: $instance})
CREATE (instance)-[:ITERATION {scope: $scope}]->(iteration:Iteration)
SET iteration = row
RETURN count(iteration) AS written
