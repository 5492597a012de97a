package main

import (
	"html"
	neturl "net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

func webVerb(a *app) *cobra.Command {
	var noOpen, asJSON bool
	c := &cobra.Command{
		Use:   "web",
		Short: "Answer requests in a browser",
		Long: "Print a one-time address of the daemon's web page, and open it where there is a\n" +
			"desktop. The address lets one browser in, once, within two minutes. The browser is given\n" +
			"a file in the state directory that leads there and that only you can read; one that may\n" +
			"not read it (a snap) shows nothing: open the address that is printed. The gateway is off\n" +
			"unless the configuration has [gateway] listen = \"127.0.0.1:0\".\n\n" +
			"A browser that is let in from a terminal answers for that terminal: it cannot answer\n" +
			"what an agent in the same terminal asks.",
		Example: "  sbx web\n  sbx web --no-open\n  sbx web add chat --role approver\n  sbx web ls",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.approver(c.Context())
			if err != nil {
				return err
			}
			i, err := client.Invite(c.Context())
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(i)
			}
			a.note("open this in a browser; it works once, until %s", i.Expires.Local().Format(time.TimeOnly))
			a.printf("%s\n", i.URL)
			if !noOpen && a.openInBrowser(i.URL) {
				a.note("opened in the browser; if it shows nothing, open the address there")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&noOpen, "no-open", false, "print the address only")
	addJSON(c, &asJSON, "print JSON")
	c.AddCommand(webAddVerb(a), webListVerb(a), webRemoveVerb(a))
	return c
}

// openInBrowser reports whether a desktop took the address. Every user of the machine
// can read a program's arguments (proc_pid_cmdline(5)), so they name a file that only
// this user can read, which leads on to the address.
func (a *app) openInBrowser(url string) bool {
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return false
	}
	program, err := exec.LookPath("xdg-open")
	if err != nil {
		return false
	}
	page, err := a.writeLeadingPage(url)
	if err != nil {
		a.note("the browser was not started: %v", err)
		return false
	}
	cmd := exec.Command(program, "file://"+(&neturl.URL{Path: page}).EscapedPath())
	if cmd.Start() != nil {
		return false
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err == nil
	case <-time.After(3 * time.Second):
		return true // some browsers don't let it end before themselves
	}
}

// leadingPage is a file in the state directory. There is one, which the next
// invitation replaces: by then the address in it is good for nothing.
const leadingPage = "web.html"

// writeLeadingPage makes a page that leads to url, and returns where it is.
func (a *app) writeLeadingPage(url string) (string, error) {
	state, err := a.place.StateDir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return "", err
	}
	to := html.EscapeString(url)
	text := "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n" +
		"<meta http-equiv=\"refresh\" content=\"0; url=" + to + "\">\n<title>sandboxd</title>\n<a href=\"" + to +
		"\">sandboxd</a>\n"
	page := filepath.Join(state, leadingPage)
	return page, renameio.WriteFile(page, []byte(text), 0o600)
}

func webAddVerb(a *app) *cobra.Command {
	var role string
	var asJSON bool
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a token for a chat front end",
		Long: "Make a token with which the program NAME may use the gateway: as an approver it passes on\n" +
			"what its users answer, as a watcher it only reads. Its name is in the audit log with\n" +
			"every answer. The token is printed once; its holder may answer, but not what is asked from\n" +
			"the terminal in which it was made: make it in another one than your agents'.",
		Example: "  sbx web add chat\n  sbx web add wallboard --role watcher",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.approver(c.Context())
			if err != nil {
				return err
			}
			f, err := client.AddFrontEnd(c.Context(), ipc.FrontEndRequest{Name: args[0], Role: role})
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(f)
			}
			a.note("the token of %s (%s), which is not shown again:", f.Name, f.Role)
			a.printf("%s\n", string(f.Token))
			return nil
		},
	}
	c.Flags().StringVar(&role, "role", ipc.FrontEndApprover, "approver or watcher")
	addJSON(c, &asJSON, "print JSON")
	return c
}

func webListVerb(a *app) *cobra.Command {
	return listVerb(a, &cobra.Command{Use: "ls", Short: "List the front ends that have a token",
		Example: "  sbx web ls\n  sbx web ls --json"},
		(*ipc.Client).FrontEnds, "no front end has a token", func(l ipc.FrontEndList) []ipc.FrontEnd { return l.FrontEnds },
		[]string{"NAME", "ROLE", "SINCE"}, func(f ipc.FrontEnd) []string {
			return []string{f.Name, f.Role, f.Created.Local().Format(time.DateTime)}
		})
}

func webRemoveVerb(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "rm NAME",
		Short:   "Take a front end's token out of force",
		Example: "  sbx web rm chat",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.approver(c.Context())
			if err != nil {
				return err
			}
			if err := client.RemoveFrontEnd(c.Context(), ipc.FrontEndName{Name: args[0]}); err != nil {
				return err
			}
			a.note("the token of %s is no longer good", args[0])
			return nil
		},
	}
}
