package broker

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/audit"
)

// maxHeads is how long a file of heads may grow, in bytes; then its older half
// goes.
const maxHeads = 1 << 20

// TellHead reports the last record of this user's log to the broker.
func TellHead(socket string, seq uint64, hash string) error {
	c, err := net.DialTimeout("unix", socket, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(c, "%d:%s\n", seq, hash); err != nil {
		return err
	}
	b, err := io.ReadAll(io.LimitReader(c, 4096))
	if said := strings.TrimSpace(string(b)); err == nil && said != "ok" {
		err = fmt.Errorf("the broker does not keep the head of the log: %s", said)
	}
	return err
}

// takeHead stores a daemon's report in the file of its user, by the kernel's credentials.
func (b *Broker) takeHead(c *net.UnixConn) {
	c.SetDeadline(time.Now().Add(patience))
	uid, _, err := peer(c)
	if err != nil {
		return
	}
	at := place{uid: uid}
	defer b.leave(at)
	if b.enter(at) > maxBusy {
		return // it reports again
	}
	line, err := bufio.NewReader(io.LimitReader(c, 256)).ReadString('\n')
	if err == nil {
		err = b.keep(uid, strings.TrimSpace(line))
	}
	if err != nil {
		b.Log.Warn("head of a log not kept", "user", uid, "error", err)
	}
	answer(c, err)
}

// keep adds a line to a user's file. A number that goes back is not kept: the
// log it comes from has lost records.
func (b *Broker) keep(uid int, head string) error {
	a, err := audit.ParseAnchor(head)
	if err != nil {
		return err
	}
	b.heads.Lock()
	defer b.heads.Unlock()
	name := filepath.Join(b.HeadsDir, strconv.Itoa(uid))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Chmod(0o644); err != nil { // with any umask: its user reads it
		return err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if whole := bytes.LastIndexByte(text, '\n') + 1; whole < len(text) { // a write that a full disk or a power cut tore
		if err := f.Truncate(int64(whole)); err != nil {
			return err
		}
		text = text[:whole]
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	switch before, kept := lastHead(lines); {
	case kept && before == a:
		return nil
	case kept && a.Seq <= before.Seq:
		return fmt.Errorf("record %d after record %d: the log has lost its end; sbx log verify says more", a.Seq, before.Seq)
	}
	line := a.Line(time.Now())
	if b.Key != nil {
		line = a.SignedLine(time.Now(), uid, b.Key)
	}
	if _, err := fmt.Fprintln(f, line); err != nil {
		return err
	}
	if err := f.Sync(); err != nil || len(text) < maxHeads {
		return err
	}
	return halve(name, append(lines, line))
}

// lastHead is the newest of the lines.
func lastHead(lines []string) (audit.Anchor, bool) {
	words := strings.Fields(lines[len(lines)-1])
	if len(words) == 0 {
		return audit.Anchor{}, false
	}
	a, err := audit.ParseAnchor(words[len(words)-1])
	return a, err == nil
}

// halve keeps the newer half of a file of heads.
func halve(name string, lines []string) error {
	tmp := name + ".new"
	if err := os.WriteFile(tmp, []byte(strings.Join(lines[len(lines)/2:], "\n")+"\n"), 0o644); err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, name)
}

// NewKey is a new key for signing heads, as PEM (PKCS #8, as openssl genpkey
// -algorithm ed25519 makes them too).
func NewKey() ([]byte, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

// ParseKey reads such a key.
func ParseKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no PEM in it; sandboxd broker new-key makes one")
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := any.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("it holds a %T; want Ed25519", any)
	}
	return key, nil
}

// PublishKey writes the public half beside the heads, as PEM, for recipients of a copy.
func (b *Broker) PublishKey() error {
	der, err := x509.MarshalPKIXPublicKey(b.Key.Public())
	if err != nil {
		return err
	}
	name := filepath.Join(b.HeadsDir, publicKey)
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	if err := os.WriteFile(name+".new", text, 0o644); err != nil {
		return err
	}
	if err := os.Chmod(name+".new", 0o644); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
