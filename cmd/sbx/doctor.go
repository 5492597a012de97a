package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/hook"
	"sandboxd/ipc"
)

func doctorVerb(a *app) *cobra.Command {
	var quick, asJSON bool
	c := &cobra.Command{
		Use:     "doctor",
		Short:   "Prove on this host what the sandbox holds, and say how to mend the rest",
		Long:    "Try each forbidden act inside a sandbox, and report which layers this host has.",
		Example: "  sbx doctor\n  sbx doctor --json | jq '.findings[] | select(.ok | not)'",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.approver(c.Context())
			if err != nil {
				return err
			}
			if !quick && !asJSON {
				a.note("trying each forbidden act in a sandbox…")
			}
			d, err := client.Doctor(c.Context(), ipc.DoctorRequest{Prove: !quick})
			if err != nil {
				return err
			}
			if asJSON {
				err = a.printJSON(d)
			} else {
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
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
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

// noteOtherHooks names what runs beside the hooks that are installed for this project or person.
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

func (a *app) printDoctor(d ipc.Doctor) {
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
