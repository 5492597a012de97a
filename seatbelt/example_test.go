package seatbelt_test

import (
	"fmt"
	"strings"

	"sandboxd/profile"
	"sandboxd/seatbelt"
)

// The paths of a profile are parameters; the text itself holds none of them.
func Example() {
	p, err := profile.New(profile.Spec{Rules: []profile.Rule{
		{Kind: profile.Allow, Access: profile.Read | profile.Exec, Path: "/usr/bin"},
		{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: "/tmp/work"},
	}})
	if err != nil {
		panic(err)
	}
	result, err := seatbelt.Compile(p)
	if err != nil {
		panic(err)
	}
	_, paths, _ := strings.Cut(result.Text, "the last match decides\n")
	paths, _, _ = strings.Cut(paths, "\n\n")
	fmt.Println(paths)
	fmt.Println(result.Params[0])
	fmt.Println(result.Params[1])
	fmt.Println(len(result.Gaps), "gaps;", "/usr/bin/sandbox-exec", result.Args()[0], "… -D", result.Params[0],
		"… command")
	// Output:
	// (allow file-read* file-write* file-link file-ioctl network-outbound network-bind network-inbound
	//   (subpath (param "P0")))
	// (allow file-read* process-exec* file-map-executable
	//   (subpath (param "P1")))
	// P0=/private/tmp/work
	// P1=/usr/bin
	// 0 gaps; /usr/bin/sandbox-exec -p … -D P0=/private/tmp/work … command
}
