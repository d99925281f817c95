// Instances: what was explored, and how far.

// name: instance^
// One instance's properties.
// $id: string
MATCH (instance:Instance {id: $id}) RETURN properties(instance) AS instance

// name: instances
// All of them, by name.
MATCH (instance:Instance) RETURN properties(instance) AS instance ORDER BY instance.id

// name: create_instance!
// An instance with its first state and what its reset showed.
// $instance: {id, environment, ...}  $state: {id, ...}  $step: {id, number, ...}  $scope: string
CREATE (instance:Instance)-[:HAS_STATE {scope: $scope}]->(state:State)-[:STEP {scope: $scope}]->(step:Step)
SET instance = $instance, state = $state, step = $step
RETURN instance.id AS id

// name: adopt_source!
// Of an instance that was only ingested it is known now what it is.
// $id: string  $source: string  $source_hash: string  $description: string
MATCH (instance:Instance {id: $id})
SET instance.source = $source, instance.source_hash = $source_hash, instance.description = $description
RETURN properties(instance) AS instance

// name: begin_run!
// A run starts, or goes on, under these settings. What is kept of usage beyond the iterations is that of the runs before.
// $id: string  $settings: JSON  $learned: JSON
MATCH (instance:Instance {id: $id})
SET instance.status = 'exploring', instance.settings = $settings, instance.learned = $learned
REMOVE instance.stopped_because, instance.stopped_why
RETURN properties(instance) AS instance

// name: finish!
// A run has ended. Its usage is what models have used since the last iteration.
// $id: string  $reason: string  $why: string  $usage: JSON
MATCH (instance:Instance {id: $id})
SET instance.status = 'explored', instance.stopped_because = $reason, instance.stopped_why = $why,
    instance.closing_usage = $usage
RETURN instance.id AS id

// name: learned
// What classes of actions revealed in the other instances of an environment, one row for each instance and class.
// $environment: string  $source_hash: string
MATCH (instance:Instance {environment: $environment})-[:REVEALED]->(template:Template)
WHERE instance.source_hash <> $source_hash AND instance.applied_iteration >= 0
RETURN template.class AS class, template.tried AS tried, template.names AS names, template.words AS words
ORDER BY class, instance.id

// name: begin_forgetting!
// From here on no iteration can be committed any more: a forgetting that is cut short can only be continued.
// $id: string
MATCH (instance:Instance {id: $id}) SET instance.applied_iteration = -1 RETURN instance.id AS id

// name: forget_entities!
// Some entities with their facts; `deleted` is 0 when none are left. So for each label below.
// $scope: string  $size: integer
MATCH (node:Entity {scope: $scope}) WITH node LIMIT $size DETACH DELETE node RETURN count(node) AS deleted

// name: forget_steps!
// $scope: string  $size: integer
MATCH (node:Step {scope: $scope}) WITH node LIMIT $size DETACH DELETE node RETURN count(node) AS deleted

// name: forget_todos!
// $scope: string  $size: integer
MATCH (node:Todo {scope: $scope}) WITH node LIMIT $size DETACH DELETE node RETURN count(node) AS deleted

// name: forget_episodes!
// $scope: string  $size: integer
MATCH (node:Episode {scope: $scope}) WITH node LIMIT $size DETACH DELETE node RETURN count(node) AS deleted

// name: forget_states!
// $scope: string  $size: integer
MATCH (node:State {scope: $scope}) WITH node LIMIT $size DETACH DELETE node RETURN count(node) AS deleted

// name: forget_templates!
// $scope: string  $size: integer
MATCH (node:Template {scope: $scope}) WITH node LIMIT $size DETACH DELETE node RETURN count(node) AS deleted

// name: forget_iterations!
// $scope: string  $size: integer
MATCH (node:Iteration {scope: $scope}) WITH node LIMIT $size DETACH DELETE node RETURN count(node) AS deleted

// name: forget_instance!
// Last, so that what is left of a forgetting cut short can still be named.
// $id: string
MATCH (instance:Instance {id: $id}) DETACH DELETE instance RETURN count(instance) AS deleted
