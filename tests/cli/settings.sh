#!/bin/sh
# uar settings, and how flag, environment and settings decide about memory.
. "$(dirname "$0")/tap.inc"

it "all settings are listed with their defaults"
uar --json settings list
want code 0
want json_lines out
want out_lines 4
want out_has '{"key":"memory.enabled","value":false,"source":"default"}'
want out_has '{"key":"memory.auto_capture","value":true,"source":"default"}'
want out_has '{"key":"memory.inject_context","value":true,"source":"default"}'
want out_has '{"key":"memory.max_context_tokens","value":1000,"source":"default"}'
end

it "what is set is stored and answered"
uar --json settings set memory.max_context_tokens 500
want code 0
want out_is '{"key":"memory.max_context_tokens","value":500,"source":"stored"}'
uar --json settings get memory.max_context_tokens
want out_is '{"key":"memory.max_context_tokens","value":500,"source":"stored"}'
end

it "settings belong to one owner"
uar --json --owner other settings get memory.max_context_tokens
want out_is '{"key":"memory.max_context_tokens","value":1000,"source":"default"}'
end

it "setting an unknown key is refused and names the known ones"
uar settings set memory.colour red
want code 2
want err_has "there is no setting 'memory.colour'"
want err_has "memory.enabled"
end

it "getting an unknown key is not found"
uar settings get memory.colour
want code 6
end

for value in yes 1 '"true"' null '' ' true'; do
    it "memory.enabled refuses '$value'"
    uar settings set memory.enabled "$value"
    want code 2
    want err_has "memory.enabled must be true or false"
    end
done

for value in 0 -1 1.5 01 1000001 many; do
    it "memory.max_context_tokens refuses '$value'"
    uar settings set memory.max_context_tokens -- "$value"
    want code 2
    want err_has "memory.max_context_tokens must be a whole number"
    end
done

# A user who has told something, and how a run tells whether memory was used.
new_store
uar memory add "The user lives in Oslo"
remembers() { out_has "Oslo"; }
forgets() { ! out_has "Oslo"; }
ask() { uar "$@" run "Where does the user live?"; }

it "memory is off unless somebody turned it on"
ask
want code 0
want forgets
end

it "--memory turns it on"
ask --memory
want code 0
want remembers
end

it "the environment turns it on"
UAR_MEMORY__ENABLED=true
export UAR_MEMORY__ENABLED
ask
unset UAR_MEMORY__ENABLED
want remembers
end

it "the stored setting turns it on"
uar settings set memory.enabled true
ask
want remembers
end

it "the environment is above the stored setting"
UAR_MEMORY__ENABLED=false
export UAR_MEMORY__ENABLED
ask
want forgets
end

it "the flag is above the environment"
ask --memory
want remembers
unset UAR_MEMORY__ENABLED
ask --no-memory
want forgets
end

it "a value of the environment that can't be is refused by name"
UAR_MEMORY__ENABLED=perhaps
export UAR_MEMORY__ENABLED
ask
unset UAR_MEMORY__ENABLED
want code 2
want err_has "UAR_MEMORY__ENABLED must be true or false, not 'perhaps'"
end

it "without injection nothing is recalled"
UAR_MEMORY__INJECT_CONTEXT=off
export UAR_MEMORY__INJECT_CONTEXT
ask --memory
unset UAR_MEMORY__INJECT_CONTEXT
want code 0
want forgets
end

it "without capture nothing is remembered"
UAR_MEMORY__AUTO_CAPTURE=false
export UAR_MEMORY__AUTO_CAPTURE
uar --memory run "My sister is called Ingrid"
unset UAR_MEMORY__AUTO_CAPTURE
want code 0
uar memory search Ingrid
want out_empty
uar --memory run "My sister is called Ingrid"
uar memory search Ingrid
want out_has Ingrid
end

plan
