package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sandboxd/display"
	"sandboxd/ipc"
)

func profileVerb(a *app) *cobra.Command {
	return group("profile", "Show what commands may touch, and why",
		"  sbx profile show\n  sbx profile explain ~/.ssh/id_ed25519\n  sbx profile diff s-01k9x5", profileShow(a),
		profileExplain(a), profileDiff(a))
}

// profileFlags are those of all three.
func profileFlags(c *cobra.Command, session *string, asJSON *bool) {
	c.Flags().StringVar(session, "session", "", "id of the session (default: this terminal's in this directory)")
	addJSON(c, asJSON, "print JSON")
}

func profileShow(a *app) *cobra.Command {
	var (
		session          string
		asJSON, operator bool
	)
	c := &cobra.Command{
		Use: "show", Short: "Print the profile that a session's commands run under",
		Example: "  sbx profile show\n  sbx profile show --operator", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if operator && session != "" {
				return usage(c, "--operator is of no session")
			}
			q := ipc.ProfileRequest{}
			if !operator {
				id, err := a.sessionID(c.Context(), session)
				if err != nil {
					return err
				}
				q.Session = id
			}
			return a.profile(c, q, asJSON)
		},
	}
	profileFlags(c, &session, &asJSON)
	c.Flags().BoolVar(&operator, "operator", false, "the operator's ceiling alone")
	return c
}

func profileExplain(a *app) *cobra.Command {
	var (
		session string
		asJSON  bool
	)
	c := &cobra.Command{
		Use: "explain PATH", Short: "Say what commands may do with a path, and why",
		Example: "  sbx profile explain .git/hooks/pre-commit", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := fromHere(args[0])
			if err != nil {
				return err
			}
			id, err := a.sessionID(c.Context(), session)
			if err != nil {
				return err
			}
			return a.profile(c, ipc.ProfileRequest{Session: id, Path: path}, asJSON)
		},
	}
	profileFlags(c, &session, &asJSON)
	return c
}

func profileDiff(a *app) *cobra.Command {
	var (
		session string
		asJSON  bool
	)
	c := &cobra.Command{
		Use: "diff OTHER", Short: "Compare a session's profile with that of another session",
		Long:    "Lines with + hold for this session only, lines with - for OTHER only.",
		Example: "  sbx profile diff s-01k9x5", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := a.sessionID(c.Context(), session)
			if err != nil {
				return err
			}
			return a.profile(c, ipc.ProfileRequest{Session: id, Against: args[0]}, asJSON)
		},
	}
	profileFlags(c, &session, &asJSON)
	return c
}

// profile requests a profile and prints the answer.
func (a *app) profile(c *cobra.Command, q ipc.ProfileRequest, asJSON bool) error {
	client, err := a.approver(c.Context())
	if err != nil {
		return err
	}
	p, err := client.Profile(c.Context(), q)
	switch {
	case err != nil:
		return err
	case asJSON:
		return a.printJSON(p)
	case q.Against != "" && len(p.Diff) == 0:
		a.note("the two are the same")
	}
	a.paged()
	for _, line := range append(append(display.Block(p.Text), p.Explain...), p.Diff...) {
		if line != "" {
			fmt.Fprintln(a.out, display.Line(line))
		}
	}
	if q.Path == "" && q.Against == "" {
		fmt.Fprintln(a.out, "digest", display.Line(p.Digest))
	}
	return nil
}
