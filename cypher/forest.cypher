// The record of what was tried: states, todos and their steps.

// name: lock_instance!
// Makes this transaction the only one that commits to the instance (a value that is read and then written in one
// transaction is lost on both engines, unless something was written first), and says where the instance stands.
// $id: string  $token: string
MATCH (instance:Instance {id: $id})
SET instance.lock = $token
RETURN properties(instance) AS instance, timestamp() AS now

// name: iteration_digest^
// The digest of what was committed as that iteration.
// $id: string
MATCH (iteration:Iteration {id: $id}) RETURN iteration.digest AS digest

// name: create_todos!
// Todos with their steps, not yet hung into the forest.
// $rows: [{todo: {id, ...}, steps: [{id, number, ...}]}]  $scope: string
UNWIND $rows AS row
CREATE (todo:Todo)
SET todo = row.todo
WITH todo, row
UNWIND row.steps AS properties
CREATE (todo)-[:STEP {scope: $scope}]->(step:Step)
SET step = properties
RETURN count(step) AS written

// name: link_todos!
// Hangs todos below the state or todo from which they were done. `written` below the number of rows: no such parent.
// $rows: [{id, parent}]  $scope: string
UNWIND $rows AS row
MATCH (todo:Todo {id: row.id})
OPTIONAL MATCH (state:State {id: row.parent})
OPTIONAL MATCH (above:Todo {id: row.parent})
WITH todo, coalesce(state, above) AS parent
WHERE parent IS NOT NULL
CREATE (parent)-[:TODO {scope: $scope}]->(todo)
RETURN count(todo) AS written

// name: promote_todos!
// New states from the situations of todos.
// $rows: [{todo, state: {id, ...}}]  $instance: string  $scope: string
UNWIND $rows AS row
MATCH (instance:Instance {id: $instance})
MATCH (todo:Todo {id: row.todo})
CREATE (instance)-[:HAS_STATE {scope: $scope}]->(state:State)
CREATE (todo)-[:PROMOTED_TO {scope: $scope}]->(state)
SET state = row.state
RETURN count(state) AS written

// name: begun_episodes
// Those of some episodes of which a part is there already: they only go on.
// $rows: [{id}]
UNWIND $rows AS row
MATCH (episode:Episode {id: row.id})
RETURN episode.id AS id

// name: create_episodes!
// Recorded trajectories, without their steps.
// $rows: [{id, scope, source, start, iteration, position}]  $instance: string  $scope: string
UNWIND $rows AS row
MATCH (instance:Instance {id: $instance})
CREATE (instance)-[:EPISODE {scope: $scope}]->(episode:Episode)
SET episode = row
RETURN count(episode) AS written

// name: create_episode_steps!
// Steps below the episodes to which they belong.
// $rows: [{episode, step: {id, number, ...}}]  $scope: string
UNWIND $rows AS row
MATCH (episode:Episode {id: row.episode})
CREATE (episode)-[:STEP {scope: $scope}]->(step:Step)
SET step = row.step
RETURN count(step) AS written

// name: mark_diverged!
// Todos of earlier iterations that replay differently now.
// $rows: [{id}]
UNWIND $rows AS row
MATCH (todo:Todo {id: row.id})
SET todo.outcome = 'diverged'
RETURN count(todo) AS written

// name: link_steps_to_facts!
// What steps of earlier iterations were evidence for, now.
// $rows: [{id, fact_ids}]
UNWIND $rows AS row
MATCH (step:Step {id: row.id})
SET step.fact_ids = coalesce(step.fact_ids, []) + [id IN row.fact_ids WHERE NOT id IN coalesce(step.fact_ids, [])]
RETURN count(step) AS written

// name: upsert_templates!
// What classes of actions have revealed here so far: totals, not additions.
// $rows: [{id, class, tried, names, words}]  $instance: string  $scope: string
UNWIND $rows AS row
MATCH (instance:Instance {id: $instance})
MERGE (template:Template {id: row.id})
SET template.scope = $scope, template.class = row.class,
    template.tried = row.tried, template.names = row.names, template.words = row.words
MERGE (instance)-[revealed:REVEALED]->(template)
SET revealed.scope = $scope
RETURN count(template) AS written

// name: close_iteration!
// The iteration's own node, and how far the instance is by it; under a lease a sign of life too. (The embedded engine
// does not see in a SET what the same SET has written: the values come from the parameter both times.)
// $instance: string  $iteration: {id, n, ...}  $explored: integer  $scope: string  $leased: boolean
MATCH (instance:Instance {id: $instance})
CREATE (instance)-[:ITERATION {scope: $scope}]->(iteration:Iteration)
SET iteration = $iteration,
    instance.applied_iteration = $iteration.n, instance.explored_iterations = $explored,
    instance.steps_used = $iteration.steps_used, instance.replayed = $iteration.replayed,
    instance.last_step = $iteration.last_step, instance.idle = $iteration.idle,
    instance.lease_seen = CASE WHEN $leased THEN timestamp() ELSE instance.lease_seen END
RETURN instance.applied_iteration AS n

// name: mark_exploring!
// It is being explored (again): why it stopped before is no longer true.
// $id: string
MATCH (instance:Instance {id: $id})
SET instance.status = 'exploring'
REMOVE instance.stopped_because, instance.stopped_why
RETURN instance.id AS id

// name: states
// All states of an instance in the order in which they came to be, each with its own step, if it has one.
// $scope: string
MATCH (state:State {scope: $scope})
OPTIONAL MATCH (todo:Todo)-[:PROMOTED_TO]->(state)
OPTIONAL MATCH (state)-[:STEP]->(step:Step)
RETURN properties(state) AS state, todo.id AS promoted_from, properties(step) AS step
ORDER BY state.iteration, state.position

// name: todos
// All todos of an instance in the order in which they came to be.
// $scope: string
MATCH (todo:Todo {scope: $scope})<-[:TODO]-(parent)
RETURN properties(todo) AS todo, parent.id AS parent
ORDER BY todo.iteration, todo.position

// name: todo_steps
// The steps of all todos of an instance.
// $scope: string
MATCH (todo:Todo {scope: $scope})-[:STEP]->(step:Step)
RETURN todo.id AS todo, properties(step) AS step
ORDER BY step.number

// name: episodes
// All episodes of an instance in the order in which they were ingested.
// $scope: string
MATCH (episode:Episode {scope: $scope})
RETURN properties(episode) AS episode
ORDER BY episode.iteration, episode.position

// name: episode_steps
// Their steps.
// $scope: string
MATCH (episode:Episode {scope: $scope})-[:STEP]->(step:Step)
RETURN episode.id AS episode, properties(step) AS step
ORDER BY step.number

// name: episode_numbers
// The numbers of their steps: how far each was ingested.
// $scope: string
MATCH (episode:Episode {scope: $scope})
OPTIONAL MATCH (episode)-[:STEP]->(step:Step)
RETURN episode.id AS episode, episode.start AS start, collect(step.number) AS numbers

// name: steps
// Some steps by their ids.
// $ids: [string]
UNWIND $ids AS id
MATCH (step:Step {id: id})
RETURN properties(step) AS step
ORDER BY step.number

// name: iterations
// All iterations of an instance, in order.
// $scope: string
MATCH (iteration:Iteration {scope: $scope})
RETURN properties(iteration) AS iteration
ORDER BY iteration.n

// name: last_step_of_iteration^
// The number of the last step that had been made at the end of an iteration.
// $id: string
MATCH (iteration:Iteration {id: $id}) RETURN iteration.last_step AS last_step

// name: templates
// What classes of actions revealed in one instance.
// $scope: string
MATCH (template:Template {scope: $scope})
RETURN template.class AS class, template.tried AS tried, template.names AS names, template.words AS words
ORDER BY class
