package safelist

import "slices"

// entries is the whole list. Names are unique.
var entries = slices.Concat(textEntries, searchEntries, fileEntries, systemEntries, gitEntries)

// subcommands lists the commands with an entry per sub-command.
var subcommands = map[string]bool{"git": true, "command": true}
