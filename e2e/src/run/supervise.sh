# Supervises the servers of one instance: starts them, and stops them after their last user. Arguments:
#
#   DIRECTORY  the instance's directory: state.json has the servers' addresses, data/ is deleted at the end
#   LEASE      a file on which each test process that uses the instance holds a shared lock
#   LINGER     seconds to keep the servers running without users, for the next test process
#
# Reads one command per line from standard input and starts each at once; the end of the input ends the start-up.
# The instance stops when no process holds the lease, when a server has ended, when state.json is removed, or when
# the input ends before state.json exists. Its servers are then killed and data/ is deleted; if DIRECTORY/keep
# exists, they get the signal that this file names, end by themselves, and data/ is kept. If the supervisor itself
# is killed, the kernel kills the servers (parent-death signal).
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
# Succeeds if no process uses the instance. Keeps the exclusive lock, so that no process joins while it stops.
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
        # The input has ended, or a server has ended early. A status above 128 is only the time-out of `read`.
        break
    fi
done

while wanted && ! unused; do :; done

rm -f "$directory/state.json"
if [ -e "$directory/keep" ]; then
    kill -s "$(cat "$directory/keep")" "${children[@]}" 2>/dev/null
    deadline=$((SECONDS + 30))
    while any_alive && [ "$SECONDS" -lt "$deadline" ]; do sleep 0.1; done
fi
kill -KILL "${children[@]}" 2>/dev/null
wait 2>/dev/null
[ -e "$directory/keep" ] || rm -rf "$directory/data"
