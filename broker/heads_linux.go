package broker

import (
	"bufio"
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
)

// maxHeads is how long a file of heads may grow, in bytes; then its older half
// goes.
const maxHeads = 1 << 20

// TellHead tells the broker the last record of this user's log.
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

// takeHead keeps what a daemon tells, in the file of the user that the kernel
// says it runs as.
func (b *Broker) takeHead(c *net.UnixConn) {
	c.SetDeadline(time.Now().Add(patience))
	uid, _, err := peer(c)
	if err != nil {
		return
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
	seq, err := parseHead(head)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	name := filepath.Join(b.HeadsDir, strconv.Itoa(uid))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Chmod(0o644); err != nil { // whatever the umask is: its user reads it
		return err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if words := strings.Fields(lines[len(lines)-1]); len(words) > 0 {
		last := words[len(words)-1]
		if last == head {
			return nil
		}
		if before, err := parseHead(last); err == nil && seq <= before {
			return fmt.Errorf("record %d after record %d: the log has lost its end; sbx log verify says more", seq, before)
		}
	}
	if _, err := fmt.Fprintf(f, "%s %s\n", time.Now().UTC().Format(time.RFC3339), head); err != nil {
		return err
	}
	if err := f.Sync(); err != nil || len(text) < maxHeads {
		return err
	}
	return halve(name, lines)
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

func parseHead(head string) (uint64, error) {
	number, hash, ok := strings.Cut(head, ":")
	seq, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil || len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		return 0, errors.New("want SEQ:HASH with 64 hexadecimal digits")
	}
	return seq, nil
}
