package safelist

import "slices"

// entries is the whole list. Names are unique.
var entries = slices.Concat(textEntries, searchEntries, fileEntries, systemEntries, gitEntries)

// subcommands are the commands whose entries are per sub-command.
var subcommands = map[string]bool{"git": true, "command": true}
