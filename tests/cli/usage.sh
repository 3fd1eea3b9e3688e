#!/bin/sh
# Command lines: help, versions, and what is wrong with them.
. "$(dirname "$0")/tap.inc"

it "--version names the program and the library"
uar --version
want code 0
want out_has "uar 0."
want out_has "libuar"
end

it "--help lists every command on stdout"
uar --help
want code 0
for command in chat run runs sessions memory settings; do want out_has "  $command"; done
want err_empty
end

for command in chat run runs sessions memory settings knowledge; do
    it "'$command --help' is about $command"
    uar "$command" --help
    want code 0
    want out_has "usage: uar [global options] $command"
    end
done

it "help of a subcommand shows its options"
uar memory search --help
want code 0
want out_has "--batch FILE"
want out_lacks "memory add"
end

it "an unknown option is named, with the way to help"
uar memory list --frobnicate
want code 2
want err_has "unknown option '--frobnicate'"
want err_has "uar memory --help"
want err_lines 1
want out_empty
end

it "with --json a wrong command line is one JSON object on stderr"
uar --json memory list --frobnicate
want code 2
want json_lines err
want err_has '{"error":{"code":"UAR_E_INVALID","message":"unknown option '"'--frobnicate'"'","hint":"'
end

it "an unknown command is named"
uar remember
want code 2
want err_has "unknown command 'remember'"
end

it "an unknown subcommand is named"
uar memory forget
want code 2
want err_has "unknown subcommand 'forget'"
end

it "a command alone that needs a subcommand says so"
uar memory
want code 2
want err_has "needs a subcommand"
end

it "no command at all is a usage error"
uar
want code 2
want err_has "no command"
end

it "an option without its value is named"
uar memory list --limit
want code 2
want err_has "'--limit' needs a value"
end

it "a flag with a value is refused"
uar --json=yes settings list
want code 2
want err_has "'--json' takes no value"
end

it "a missing argument is named"
uar memory get
want code 2
want err_has "missing argument: ID"
end

it "an argument too many is named"
uar memory get a b
want code 2
want err_has "unexpected argument 'b'"
end

it "an option of another command is refused"
uar memory get --batch x y
want code 2
want err_has "unknown option '--batch'"
end

it "--option=value and --option value are the same"
uar --user=ada --session=s1 settings list
want code 0
end

it "a control character in a command line can't reach the terminal"
uar "$(printf 'x\033[31m')"
want code 2
want err_has 'unknown command '"'"'x\u001b[31m'"'"
end

for command in knowledge skills graph agents mcp admin; do
    it "'$command' says that it is not in this version"
    uar "$command" some thing --option value
    want code 2
    want err_has "'uar $command' is not in this version"
    want err_lines 1
    end
done

for verb in "runs approve x" "runs resume x" "runs fork x"; do
    it "'$verb' says that it is not in this version"
    # shellcheck disable=SC2086
    uar --json $verb
    want code 2
    want json_lines err
    want err_has '"code":"UAR_E_UNSUPPORTED"'
    want err_has "is not in this version"
    end
done

for form in uar sse agui; do
    it "--events $form says that it is not in this version"
    uar run hello --events $form
    want code 2
    want err_has "--events $form is not in this version"
    end
done

it "an unknown form of events is refused"
uar run hello --events xml
want code 2
want err_has "--events 'xml' is not known"
end

it "--budget and --policy say that they are not in this version"
uar run hello --budget tokens=5
want code 2
want err_has "--budget is not in this version"
uar run hello --policy file
want code 2
want err_has "--policy is not in this version"
end

it "--memory and --no-memory together are refused"
uar --memory --no-memory run hello
want code 2
want err_has "contradict"
end

it "an id with a control character is refused by its option"
uar --user "$(printf 'a\001b')" settings list
want code 2
want err_has "--user must be 1 to 128 bytes"
end

it "the owner of the library itself is refused"
uar --owner '~' settings list
want code 2
want err_has "reserved"
end

it "a store that is no folder is refused by its scheme"
"$UAR" --store postgres://host/db settings list >out 2>err
code=$?
want code 2
want err_has "not in this version"
end

it "an embedder that isn't one is refused"
uar --embedder word2vec memory list
want code 2
want err_has "--embedder 'word2vec': there is no such embedder"
end

it "an encoder whose folder isn't there is refused"
uar --embedder bert:models memory list
want code 2
want err_has "--embedder 'bert:models': "
end

it "a service that can't be reached leaves memory lexical, and says so"
uar --json --embedder 'openai:http://127.0.0.1:1/v1#tiny' memory add "written without a network"
want code 0
want out_has '"outcome":"added"'
want err_has 'memory is lexical for now'
end

it "the default store lies under XDG_DATA_HOME, for its owner only"
"$UAR" settings list >out 2>err
code=$?
want code 0
want test -f "$XDG_DATA_HOME/uar/state/state.db"
want same "$(ls -ld "$XDG_DATA_HOME/uar" | cut -c 1-10)" drwx------
end

it "without XDG_DATA_HOME the default store lies under HOME"
(unset XDG_DATA_HOME && "$UAR" memory list >out 2>err)
code=$?
want code 0
want test -f "$HOME/.local/share/uar/memory/memory.db"
end

it "without any home a store must be named"
(unset XDG_DATA_HOME HOME && "$UAR" memory list >out 2>err)
code=$?
want code 3
want err_has "--store"
end

plan
