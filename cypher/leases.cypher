// Leases: one writer per instance. `lease_fence` counts them and stays when the holder has gone; the times are the
// database's, so that the clocks of two hosts need not agree.

// name: lease^
// Who holds it now, and what time the database has. Takes no lock: a paused holder may have one.
// $id: string
MATCH (instance:Instance {id: $id}) RETURN properties(instance) AS instance, timestamp() AS now

// name: lock_lease!
// The same, after making this transaction the only one that decides about it.
// $id: string  $token: string
MATCH (instance:Instance {id: $id})
SET instance.lock = $token
RETURN properties(instance) AS instance, timestamp() AS now

// name: take_lease!
// $id: string  $fence: integer  $owner: string  $host: string  $boot: string  $pid: integer  $started: integer
MATCH (instance:Instance {id: $id})
SET instance.lease_fence = $fence, instance.lease_owner = $owner, instance.lease_host = $host,
    instance.lease_boot = $boot, instance.lease_pid = $pid, instance.lease_started = $started,
    instance.lease_since = timestamp(), instance.lease_seen = timestamp()
RETURN properties(instance) AS instance

// name: renew_lease!
// A sign of life; no row: it is no longer this holder's.
// $id: string  $owner: string
MATCH (instance:Instance {id: $id, lease_owner: $owner})
SET instance.lease_seen = timestamp()
RETURN instance.lease_seen AS seen

// name: release_lease!
// $id: string  $owner: string
MATCH (instance:Instance {id: $id, lease_owner: $owner})
REMOVE instance.lease_owner, instance.lease_host, instance.lease_boot, instance.lease_pid, instance.lease_started,
       instance.lease_since, instance.lease_seen
RETURN instance.id AS id
