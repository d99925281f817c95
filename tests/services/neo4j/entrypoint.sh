#!/usr/bin/env bash
# Starts Neo4j as the official image does: NEO4J_AUTH is the first password, any other variable is a setting with `_`
# for a dot and `__` for an underscore (NEO4J_server_memory_heap_max__size=1g).
set -euo pipefail

conf=$NEO4J_HOME/conf/neo4j.conf
boot() { java -Xmx128m -XX:TieredStopAtLevel=1 -cp "$NEO4J_HOME/lib/*" -Dbasedir="$NEO4J_HOME" "$@"; }

set_option() { # a setting may be given once only, and a container may be started again
    sed -i "/^${1//./\\.}=/d" "$conf"
    printf '%s=%s\n' "$1" "$2" >>"$conf"
}

while IFS= read -r -d '' pair; do
    name=${pair%%=*}
    case $name in
        NEO4J_HOME | NEO4J_EDITION | NEO4J_AUTH | NEO4J_USERNAME | NEO4J_PASSWORD) continue ;;
        NEO4J_*) ;;
        *) continue ;;
    esac
    option=${name#NEO4J_}
    option=${option//_/.}
    set_option "${option//../_}" "${pair#*=}"
done < <(env -0)

case ${NEO4J_AUTH:-} in
    none) set_option dbms.security.auth_enabled false ;;
    neo4j/*) # Only before the very first start: afterwards the password is in the data.
        [ -e /data/databases/system ] ||
            boot org.neo4j.server.startup.Neo4jAdminCommand dbms set-initial-password "${NEO4J_AUTH#neo4j/}"
        ;;
    "") ;;
    *)
        echo "NEO4J_AUTH must be 'none' or 'neo4j/PASSWORD'." >&2
        exit 1
        ;;
esac

[ "${1:-neo4j}" = neo4j ] || exec "$@"
# Left by a server that was killed. Process ids repeat in a container, so the launcher may take it for a server that runs.
rm -f "$NEO4J_HOME/run/neo4j.pid"
# The launcher turns neo4j.conf into the command that runs the server with the heap that is set there.
command=$(boot org.neo4j.server.startup.Neo4jCommand console --dry-run)
eval exec "$command"
