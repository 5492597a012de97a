package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/audit"
	"sandboxd/ipc"
)

func logVerify(a *app) *cobra.Command {
	var (
		dir, anchor, kept, by string
		asJSON                bool
	)
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check that no record was changed, removed or added",
		Long: "Read the whole log and check its chain. The first record that is not as it was written\n" +
			"is named. The anchor that is printed at the end, kept where nobody who can write the\n" +
			"log can reach it, lets a later --anchor find a log that was cut or rewritten whole.\n\n" +
			"On a server the broker signs what it keeps of each log. Copies of the log, of\n" +
			"/var/lib/sandboxd/heads/UID and, got from the administrator, of key.pub beside it can be\n" +
			"checked anywhere, with --dir, --anchors and --key: who handed the first two over can't\n" +
			"have made them up.\n\n" +
			"The log is read from its files, whether a daemon runs or not.",
		Example: "  sbx log verify\n  sbx log verify --anchor 1284:5f0c…\n  sbx log verify --anchors " +
			"/mnt/elsewhere/sbx.anchors",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var anchors []audit.Anchor
			if anchor != "" {
				one, err := audit.ParseAnchor(anchor)
				if err != nil {
					return usage(c, "--anchor %q: %v", anchor, err)
				}
				anchors = append(anchors, one)
			}
			var key ed25519.PublicKey
			switch {
			case by != "" && kept == "":
				return usage(c, "--key says who signed the file of --anchors, which is missing")
			case by != "":
				var err error
				if key, err = readKey(by); err != nil {
					return err
				}
			}
			if kept != "" {
				list, err := readAnchors(kept, key)
				if err != nil {
					return err
				}
				anchors = append(anchors, list...)
			}
			var err error
			if dir == "" {
				if dir, err = a.auditDir(c); err != nil {
					return err
				}
				if anchors, err = withHeads(anchors); err != nil {
					return err
				}
			}
			defer a.slowly("checking the log")()
			return a.verify(dir, anchors, asJSON)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "the log's directory (default: the daemon's)")
	c.Flags().StringVar(&anchor, "anchor", "", "SEQ:HASH of a record, as an earlier verify printed it")
	c.Flags().StringVar(&kept, "anchors", "", "a file that sbx log anchor writes")
	c.Flags().StringVar(&by, "key", "", "take from that file only lines that this public key signed")
	addJSON(c, &asJSON, "print JSON")
	return c
}

// auditDir is where the running daemon, or else one that would be started,
// keeps its log.
func (a *app) auditDir(c *cobra.Command) (string, error) {
	client, err := a.running(c.Context())
	if err != nil && a.place == nil {
		return "", err
	}
	if client != nil {
		if s, err := client.Status(c.Context()); err == nil && s.StateDir != "" {
			return filepath.Join(s.StateDir, "audit"), nil
		}
	}
	state, err := a.place.StateDir()
	return filepath.Join(state, "audit"), err
}

// headsDir is where the system's broker keeps the heads of each user's log.
const headsDir = "/var/lib/sandboxd/heads"

// withHeads adds the anchors that the broker keeps for this user, if any.
func withHeads(anchors []audit.Anchor) ([]audit.Anchor, error) {
	list, err := readAnchors(filepath.Join(headsDir, strconv.Itoa(os.Geteuid())), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return anchors, nil
	}
	return append(anchors, list...), err
}

// verified reads the whole log in dir. bad is its first record that is not as it was
// written; nil: there is none. It is an error if there is no log.
func verified(dir string, anchors []audit.Anchor) (sum audit.Summary, bad *audit.BadRecord, err error) {
	sum, err = audit.Verify(dir, anchors...)
	switch {
	case errors.As(err, &bad):
		return sum, bad, nil
	case errors.Is(err, fs.ErrNotExist) || err == nil && sum.Head.Seq+sum.Waiting == 0:
		err = fmt.Errorf("there is no log in %q yet", dir)
	}
	return sum, nil, err
}

func (a *app) verify(dir string, anchors []audit.Anchor, asJSON bool) error {
	sum, bad, err := verified(dir, anchors)
	if err != nil {
		return err
	}
	v := ipc.AuditVerdict{OK: bad == nil, Records: sum.Records, Seq: sum.Head.Seq, Hash: sum.Head.Hash}
	if bad != nil {
		v.File, v.Line, v.BadSeq, v.Problem = bad.File, bad.Line, bad.Seq, bad.Problem
	}
	if asJSON {
		if err := a.printJSON(v); err != nil {
			return err
		}
	} else if bad != nil {
		a.printf("BAD: %s\n", bad.Text())
		a.note("the %d records before it are as they were written; compare with a copy of %s", sum.Records,
			filepath.Join(dir, bad.File))
	} else {
		a.printf("OK: %s, none changed, removed or added\n", plural(int(sum.Records), "record"))
		a.printf("anchor: %s\n", sum.Head)
		if sum.Removed.Seq > 0 {
			a.note("records 1 to %d were removed because of their age ([audit] keep); what is left follows from them",
				sum.Removed.Seq)
		}
		if sum.Waiting > 0 {
			a.note("%s more were taken from the newest file by a loss of power; the daemon puts them back when it starts (sbx "+
				"status)", plural(int(sum.Waiting), "record"))
		}
		for _, e := range sum.Repairs {
			a.note("look at record %d: the log was repaired: %s", e.Seq, strings.TrimSpace(e.Operation+" "+e.Reason+" "+e.Error))
		}
	}
	if bad != nil {
		return quietly(exitNo)
	}
	return nil
}
