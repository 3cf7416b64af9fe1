# Keeps the servers of one instance alive for as long as somebody needs them. Run by bash with the arguments
#
#   DIRECTORY  the instance: state.json says how to reach it, data/ is thrown away at the end
#   LEASE      a file on which every user of the instance holds a shared lock
#   LINGER     seconds to go on without users, so that the next test process finds the servers running
#
# Standard input brings one command per line, each to be started at once; its end means "started up".
# If DIRECTORY/keep exists at the end, the servers shut down cleanly and data/ stays; otherwise they are killed.
# The instance stops when nobody holds the lease, when a server died, when state.json is gone, or when the
# starter went away before it wrote state.json. A killed supervisor takes its servers along (pdeathsig).
set -u
directory=$1 lease=$2 linger=$3
children=()
exec 9<"$lease"

all_alive() {
    local child
    for child in "${children[@]}"; do kill -0 "$child" 2>/dev/null || return 1; done
}
any_alive() {
    local child
    for child in "${children[@]}"; do kill -0 "$child" 2>/dev/null && return 0; done
    return 1
}
wanted() { [ -e "$directory/state.json" ] && all_alive; }
# Succeeds once nobody uses the instance; the lock is then held to the end, so that nobody joins any more.
unused() {
    flock --exclusive --timeout 1 9 || return 1
    [ "$linger" = 0 ] && return 0
    flock --unlock 9
    sleep "$linger" 9<&-
    flock --exclusive --nonblock 9
}

while :; do
    if IFS= read -r -t 1 command; then
        eval "$command" 9<&- &
        children+=("$!")
    elif [ $? -le 128 ] || ! all_alive; then
        # The end of the input, or a server that could not start. Above 128 it is only the timeout.
        break
    fi
done

while wanted && ! unused; do :; done

rm -f "$directory/state.json"
if [ -e "$directory/keep" ]; then
    kill -TERM "${children[@]}" 2>/dev/null
    deadline=$((SECONDS + 30))
    while any_alive && [ "$SECONDS" -lt "$deadline" ]; do sleep 0.1; done
fi
kill -KILL "${children[@]}" 2>/dev/null
wait 2>/dev/null
[ -e "$directory/keep" ] || rm -rf "$directory/data"
