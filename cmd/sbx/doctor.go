package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sandboxd/hook"
	"sandboxd/ipc"
)

func doctorVerb(a *app) *cobra.Command {
	var quick, prove, asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Prove on this host what the sandbox holds",
		Long:  "Try each forbidden act inside a sandbox, and report which layers this host has.",
		Example: "  sbx doctor\n  sbx doctor --prove > report.txt\n" +
			"  sbx doctor --json | jq '.findings[] | select(.ok | not)'",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if prove && (quick || asJSON) {
				return usage(c, "--prove is a report of its own: leave out --quick and --json")
			}
			client, err := a.approver(c.Context())
			if err != nil {
				return err
			}
			done := a.slowly("trying each forbidden act in a sandbox")
			d, err := client.Doctor(c.Context(), ipc.DoctorRequest{Prove: !quick})
			done()
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				err = a.printJSON(d)
			case prove:
				a.printHost()
				a.printDoctor(d)
				a.printSum(d)
			default:
				a.printDoctor(d)
				a.noteOtherHooks()
			}
			if err == nil && !sound(d) {
				err = quietly(exitNo)
			}
			return err
		},
	}
	c.Flags().BoolVar(&quick, "quick", false, "only say which layers there are; attempt nothing")
	c.Flags().BoolVar(&prove, "prove", false, "print a report to send: this host, each act and its outcome")
	addJSON(c, &asJSON, "print JSON")
	return c
}

// sound reports whether the host has a sandbox at all and all that was tried held.
func sound(d ipc.Doctor) bool {
	for _, f := range d.Findings {
		if !f.OK && !strings.HasPrefix(f.Name, "layer ") {
			return false
		}
	}
	return d.Enforcement.Level != ipc.Absent
}

// noteOtherHooks names the hooks of others beside ours, of this project or person.
func (a *app) noteOtherHooks() {
	cwd, err := here()
	home, none := os.UserHomeDir()
	if err != nil || none != nil {
		return
	}
	for _, v := range hook.Vendors {
		for _, other := range otherHooks(v, cwd, home) {
			a.note("%s", other)
		}
	}
}

// neverRun is the note in the report of a system on which the authors never ran the sandbox.
const neverRun = "sandboxd was never run on a Mac by its authors: sbx doctor --prove says what holds there"

// printHost prints the part of a report that says where it was made. It names no user,
// no host and no path.
func (a *app) printHost() {
	kernel, user := runtime.GOOS, "ordinary"
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
	}
	if os.Geteuid() == 0 {
		user = "root"
	}
	a.printf("report of sbx doctor --prove\n")
	table(a.out, [][]string{
		{"sandboxd", fmt.Sprintf("%s (protocol %d)", ipc.Release, ipc.Protocol)},
		{"system", runtime.GOOS + "/" + runtime.GOARCH + ", " + kernel},
		{"user", user},
	})
	a.printf("\n")
}

// printSum prints how many of the forbidden acts were refused.
func (a *app) printSum(d ipc.Doctor) {
	held, tried := 0, 0
	for _, f := range d.Findings {
		switch {
		case strings.HasPrefix(f.Name, "layer "):
		case f.Proved:
			tried++
			if f.OK {
				held++
			}
		}
	}
	a.printf("\n%d of %d forbidden acts were refused\n", held, tried)
}

func (a *app) printDoctor(d ipc.Doctor) {
	if runtime.GOOS == "darwin" {
		a.printf("%s\n", neverRun)
	}
	a.printEnforcement(d.Enforcement)
	var rows [][]string
	for _, f := range d.Findings {
		state := "holds"
		switch {
		case strings.HasPrefix(f.Name, "layer "):
			continue // printed with the enforcement
		case !f.OK:
			state = "DOES NOT HOLD"
		case !f.Proved:
			state = "not tried"
		}
		rows = append(rows, []string{state, f.Name, milliseconds(f.TookMS), f.Detail + hint(f.Remedy)})
	}
	if len(rows) > 0 {
		a.printf("\n")
		table(a.out, rows)
	}
}
