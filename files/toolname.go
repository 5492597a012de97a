package files

import (
	"slices"
	"strings"
)

// toolOps are the file tools whose names are not "file_" and an operation.
var toolOps = map[string]Op{
	"file_create_overwrite": Write, "file_multi_edit": MultiEdit,
	"file_insert_after": Insert, "file_insert_before": Insert,
}

// OpOf returns the operation of a file tool's name, and whether there is one.
func OpOf(tool string) (Op, bool) {
	if op, ok := toolOps[tool]; ok {
		return op, true
	}
	name, ok := strings.CutPrefix(tool, "file_")
	return Op(name), ok && slices.Contains(ops(), Op(name))
}
