#!/bin/sh
# Written by `sbx hook install cline`; `--remove` deletes it. sandboxd judges each tool before it runs. An error cancels
# the call.
answer=$(COMMAND) || answer='{"cancel": true, "errorMessage": "Not run: sandboxd could not judge this call."}'
printf '%s\n' "$answer"
