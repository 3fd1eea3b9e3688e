# Sourced by tests/run.sh and examples/run.sh: installs what is missing on a Debian machine, configures and builds.
# Everything that it makes lies in out/.

# What the library and its example program need, and what the tests need beside it.
UAR_PACKAGES_BUILD="gcc libc6-dev meson ninja-build pkg-config python3 libcjson-dev libsqlite3-dev libmbedtls-dev
libutf8proc-dev libcurl4-openssl-dev libedit-dev"
UAR_PACKAGES_TEST="g++ clang clang-format llvm binutils dpkg-dev libcmocka-dev libmicrohttpd-dev libjansson-dev pmccabe
locales ca-certificates python3-pip"

setup_missing() {
    for package in "$@"; do
        case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
        *' installed') ;;
        *) printf '%s ' "$package" ;;
        esac
    done
}

# Install packages by name, or say exactly what to install and end with status 2.
setup_packages() {
    if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
        setup_check_tools
        return 0
    fi
    missing=$(setup_missing "$@")
    [ -n "$missing" ] || return 0
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
            as_root=sudo
        else
            echo "Missing packages. Install them as root, then run this again:" >&2
            echo "  apt-get install $missing" >&2
            exit 2
        fi
    fi
    echo "installing: $missing"
    setup_log=$(mktemp)
    # The package lists may be missing or old: one more try after an update.
    for attempt in old fresh; do
        if [ "$attempt" = fresh ]; then
            $as_root apt-get -qq -o DPkg::Lock::Timeout=300 update >>"$setup_log" 2>&1 || true
        fi
        # shellcheck disable=SC2086
        if $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
            -o DPkg::Lock::Timeout=300 install $missing >>"$setup_log" 2>&1; then
            rm -f "$setup_log"
            return 0
        fi
    done
    tail -n 20 "$setup_log" >&2
    rm -f "$setup_log"
    echo "The packages could not be installed. Install them by hand, then run this again:" >&2
    echo "  apt-get install $missing" >&2
    exit 2
}

# Not Debian: nothing is installed here, but what is missing is named.
setup_check_tools() {
    lacking=
    for tool in meson ninja pkg-config python3; do
        command -v "$tool" >/dev/null 2>&1 || lacking="$lacking $tool"
    done
    for module in libcjson sqlite3 libutf8proc libcurl; do
        pkg-config --exists "$module" 2>/dev/null || lacking="$lacking $module"
    done
    if [ -n "$lacking" ]; then
        echo "This is no Debian machine; install these yourself, and mbedtls and cmocka with headers:$lacking" >&2
        exit 2
    fi
}

# setup_configure FOLDER [MESON OPTION...]: configure, or configure again: sources are found by listing.
setup_configure() {
    folder=$1
    shift
    again=
    [ ! -f "$folder/build.ninja" ] || again=--reconfigure
    mkdir -p out/log
    log=out/log/$(basename "$folder").configure.log
    # shellcheck disable=SC2086
    if ! meson setup $again "$folder" "$@" >"$log" 2>&1; then
        # A folder left half-made by an earlier run is worth nothing.
        rm -rf "$folder"
        if ! meson setup "$folder" "$@" >"$log" 2>&1; then
            tail -n 20 "$log"
            return 1
        fi
    fi
}

# setup_compile FOLDER [TARGET...]: build with two jobs; on failure print what failed, the whole of it.
setup_compile() {
    folder=$1
    shift
    log=out/log/$(basename "$folder").build.log
    if ! ninja -j2 -k 20 -C "$folder" "$@" >"$log" 2>&1; then
        grep -vE '^\[[0-9]+/[0-9]+\]' "$log" | head -n 120
        return 1
    fi
}
