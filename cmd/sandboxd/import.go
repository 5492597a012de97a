package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"

	"sandboxd/display"
	"sandboxd/shell/importrules"
)

// maxSettings bounds a file of settings.
const maxSettings = 4 << 20

// runImport is `sandboxd config import`: it turns another agent's settings, on
// standard input, into an importrules.Result as JSON.
func runImport(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var from, name string
	set := flag.NewFlagSet("import", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	value(set, "from", &from)
	value(set, "name", &name)
	if set.Parse(args) != nil || set.NArg() > 0 || from == "" {
		return misuse(stderr, "sandboxd config import: want --from VENDOR --name FILE")
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxSettings+1))
	if err == nil && len(data) > maxSettings {
		err = fmt.Errorf("%q is larger than %s", name, display.Size(maxSettings))
	}
	var r importrules.Result
	if err == nil {
		r, err = importrules.Convert(importrules.Vendor(from), name, data)
	}
	if err == nil {
		err = json.NewEncoder(stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(stderr, "sandboxd:", err)
		return 1
	}
	return 0
}
