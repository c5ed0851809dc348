# What .ci/run and scripts/deep-check have in common: running named steps,
# each in a fresh shell, and the table at the end. Sourced, never run.
#
# The caller defines a function step_NAME for each step and then calls
# `run_steps NAME...`. A step fails by its exit status, or calls
# `skip WHY` and returns when something optional cannot be had. The steps in
# $beside build into folders of their own (those of releases are one) and run
# beside the others.
# shellcheck shell=bash

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"
export CI=true
# Nothing here is built twice from changed source, so the bookkeeping for that is waste.
export CARGO_INCREMENTAL=0
exec </dev/null

# Absolute, because some steps change the folder.
target=${CARGO_TARGET_DIR:-$top/target}
case $target in /*) ;; *) target=$top/$target ;; esac
export CARGO_TARGET_DIR=$target

results=$(mktemp)
skipped=$(mktemp)
lane=
trap 'rm -f "$results" "$skipped"; [ -z "$lane" ] || kill -- "-$lane" 2>/dev/null' EXIT

# skip WHY: notes that (a part of) the running step was left out.
skip() {
    echo "SKIPPED $step: $*" | tee -a "$skipped"
}

# optional WHAT COMMAND...: true if a tool answers, else notes the gap.
optional() {
    local what=$1
    shift
    "$@" >/dev/null 2>&1 || { skip "$what is not available here"; return 1; }
}

# nightly_components COMPONENT...: true if nightly has or gets them, else
# notes the gap.
nightly_components() {
    command -v rustup >/dev/null || { skip "there is no rustup"; return 1; }
    local why
    why=$(timeout 300 rustup component add "$@" --toolchain nightly 2>&1) ||
        { skip "rustup cannot add $* to nightly: $(tail -n 1 <<<"$why")"; return 1; }
}

# has_target TARGET: true if std or core for a target is here or can be had,
# else notes the gap.
has_target() {
    command -v rustup >/dev/null || { skip "there is no rustup"; return 1; }
    local why
    why=$(timeout 300 rustup target add "$1" 2>&1) ||
        { skip "rustup cannot add $1: $(tail -n 1 <<<"$why")"; return 1; }
}

# The crates that users get, each behind those that it needs, and as arguments of cargo.
published="formic-ecs-derive formic-ecs formic-jobs formic-ai formic-nav formic"
published() { printf -- '-p %s ' $published; }

# loom_models PREEMPTIONS: every model of ecs-core and ecs-jobs under loom. A filter that
# matches nothing passes too, so the tests that ran are counted.
loom_models() {
    local log=$target/ci-loom/models.log
    mkdir -p "$target/ci-loom"
    RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=$1 CARGO_TARGET_DIR=$target/ci-loom \
        cargo test -p formic-ecs -p formic-jobs --release --lib loom_models -- --nocapture 2>&1 | tee "$log"
    grep -qE '^test result: ok\. [1-9]' "$log" || { echo "no loom model ran"; return 1; }
}

# shuttle_models ITERATIONS: whole pools under shuttle, so many schedules of two kinds for each
# test, which are counted as above.
shuttle_models() {
    local log=$target/ci-shuttle/models.log
    mkdir -p "$target/ci-shuttle"
    RUSTFLAGS="--cfg shuttle" SHUTTLE_ITERATIONS=$1 CARGO_TARGET_DIR=$target/ci-shuttle \
        cargo test -p formic-jobs --test shuttle -- --nocapture 2>&1 | tee "$log"
    grep -qE '^test result: ok\. [1-9]' "$log" || { echo "no shuttle model ran"; return 1; }
}

# guide_as_book: builds the guide as a book, in target/book.
guide_as_book() {
    PATH=$PATH:$target/mdbook/bin
    optional "mdbook, which scripts/deep-check book builds," mdbook --version || return 0
    mdbook build docs/guide --dest-dir "$target/book"
}

run_step() {
    local step=$1 start=$SECONDS status=0
    printf '\n=== %s\n' "$step"
    # A subshell of its own, not in a condition: there `set -e` would be off.
    set +e
    (set -euo pipefail; "step_$step")
    status=$?
    set -e
    local verdict=ok
    if [ "$status" != 0 ]; then
        verdict="FAILED ($status)"
    elif grep -q "^SKIPPED $step:" "$skipped"; then
        verdict="ok, with gaps"
    fi
    printf '%s\t%s\t%s\n' "$step" "$((SECONDS - start)) s" "$verdict" >>"$results"
    printf -- '--- %s: %s after %s s\n' "$step" "$verdict" "$((SECONDS - start))"
}

# run_steps NAME...: runs all of them even if one fails, prints the table, and
# leaves with 1 if any failed.
run_steps() {
    local step
    case ${1:-} in -h | --help)
        # The comment at the top of the script.
        sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"
        printf '\nsteps: %s\n' "$steps"
        return ;;
    esac
    for step in "$@"; do
        declare -F "step_$step" >/dev/null ||
            { echo "there is no step '$step'; there are: $steps" >&2; exit 2; }
    done
    local here=() there=() log
    for step in "$@"; do
        case " ${beside:-} " in *" $step "*) there+=("$step") ;; *) here+=("$step") ;; esac
    done
    if [ "${#here[@]}" = 0 ] || [ "${#there[@]}" = 0 ]; then
        for step in "$@"; do run_step "$step"; done
    else
        log=$(mktemp)
        set -m # a group of processes, which an interrupt ends as well
        (for step in "${there[@]}"; do run_step "$step"; done) >"$log" 2>&1 &
        lane=$!
        set +m
        for step in "${here[@]}"; do run_step "$step"; done
        echo "waiting for what runs beside: ${there[*]}"
        wait "$lane"
        lane=
        cat "$log"
        rm "$log"
    fi
    printf '\n=== results after %s s\n' "$SECONDS"
    awk -F '\t' '{ printf "%-18s %8s  %s\n", $1, $2, $3 }' "$results"
    cat "$skipped"
    ! grep -q FAILED "$results"
}
