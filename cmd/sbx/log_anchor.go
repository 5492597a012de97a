package main

import (
	"bufio"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sandboxd/audit"
)

func logAnchor(a *app) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "anchor FILE",
		Short: "Add the log's last record to a file that is kept apart",
		Long: "Check the log, and add a line with the number and hash of its last record to FILE: on\n" +
			"another disk, or another host, where nobody who can write the log can write. sbx log\n" +
			"verify --anchors FILE then finds also a tail that was cut off, and a log that was\n" +
			"rewritten whole. A log that does not hold against the anchors in FILE gets none.",
		Example: "  sbx log anchor /mnt/elsewhere/sbx.anchors\n  sbx log anchor - | ssh host 'cat >> sbx.anchors'",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if dir == "" {
				if dir, err = a.auditDir(c); err != nil {
					return err
				}
			}
			return a.anchor(dir, args[0])
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "the log's directory (default: the daemon's)")
	return c
}

// anchor verifies the log against the file's heads, and adds its head.
func (a *app) anchor(dir, file string) error {
	var before []audit.Anchor
	if file != "-" {
		var err error
		if before, err = readAnchors(file, nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	sum, bad, err := verified(dir, before)
	switch {
	case err != nil:
		return err
	case bad != nil:
		a.printf("BAD: %s\n", bad.Text())
		return quietly(exitNo)
	}
	line := sum.Head.Line(time.Now()) + "\n"
	if file == "-" {
		a.printf("%s", line)
		return nil
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("keep the anchor: %w", err)
	}
	_, err = f.WriteString(line)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("keep the anchor: %w", err)
	}
	a.printf("anchor: %s\n", sum.Head)
	return nil
}

// readAnchors reads a file of lines that end with SEQ:HASH. With a key only those
// count that its owner signed, and there must be one.
func readAnchors(name string, key ed25519.PublicKey) ([]audit.Anchor, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read anchors: %w", err)
	}
	defer f.Close()
	var list []audit.Anchor
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if key != nil && !audit.SignedBy(lines.Text(), key) {
			continue
		}
		one, err := audit.ParseAnchor(words[len(words)-1])
		if err != nil {
			return nil, fmt.Errorf("read anchors: %s line %d: %w", name, n, err)
		}
		list = append(list, one)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read anchors: %w", err)
	}
	if key != nil && len(list) == 0 {
		return nil, fmt.Errorf("read anchors: no line of %s is signed by that key", name)
	}
	return list, nil
}

// readKey reads a public key, as PEM.
func readKey(name string) (ed25519.PublicKey, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("read the key: no PEM in %s", name)
	}
	any, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the key: %s: %w", name, err)
	}
	key, ok := any.(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("read the key: %s holds a %T; want Ed25519", name, any)
	}
	return key, nil
}
