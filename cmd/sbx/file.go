package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

// fileOptions are the flags that all file verbs share.
type fileOptions struct {
	json, dryRun, noAsk         bool
	session, agent, description string
}

func (o *fileOptions) flags(c *cobra.Command) {
	f := c.Flags()
	addJSON(c, &o.json, "print one JSON object")
	f.BoolVar(&o.noAsk, "no-ask", false, "do not ask at this terminal: leave the answer to sbx approve")
	f.StringVar(&o.agent, "agent-name", "", "what the asking program calls itself; shown as a claim")
	f.StringVar(&o.description, "description", "", "what it is for, in the asking program's words; shown as such")
}

// dry adds the flags of verbs that change something.
func (o *fileOptions) dry(c *cobra.Command) {
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the change and what would be decided; do nothing and ask nobody")
}

func fileVerb(a *app) *cobra.Command {
	c := group("file", "Read and change files with a person's approval, and undo",
		"  sbx file read README.md\n  sbx file edit main.go --find 'old' --replace 'new'\n  sbx file write notes.md < "+
			"text\n  sbx undo --last",
		fileRead(a), fileWrite(a), fileEdit(a), fileAppend(a), fileInsert(a), fileDelete(a),
		fileTwo(a, "move", "Move a file, link or folder"), fileTwo(a, "copy", "Copy a file"),
		fileMkdir(a), fileRmdir(a), fileList(a), fileGrep(a), fileStat(a))
	c.Long = "Operate on files below the project, or below the folders of [files.paths]. Reading runs;\n" +
		"creating and changing ask, unless the path is safe; deleting and protected paths ask\n" +
		"twice. Whatever is changed can be taken back with sbx undo."
	return c
}

// fileCommand makes one verb. request returns its requests.
func (a *app) fileCommand(use, short, long, example string, args cobra.PositionalArgs,
	flags func(*cobra.Command, *fileOptions),
	request func(*cobra.Command, []string) ([]ipc.FileRequest, error)) *cobra.Command {
	var o fileOptions
	if long != "" {
		long = "\n\n" + long
	}
	c := &cobra.Command{Use: use, Short: short, Long: short + "." + long, Example: example, Args: args,
		RunE: func(c *cobra.Command, args []string) error {
			list, err := request(c, args)
			if err != nil {
				return err
			}
			return a.files(c.Context(), o, list)
		}}
	flags(c, &o)
	return c
}

func reading(c *cobra.Command, o *fileOptions) { o.flags(c); o.program(c) }

func changing(c *cobra.Command, o *fileOptions) { reading(c, o); o.dry(c) }

// program lets a program use its own session.
func (o *fileOptions) program(c *cobra.Command) {
	c.Flags().StringVar(&o.session, "session", "", "id of a program's session; its secret is in $SBX_SESSION_SECRET")
}

// one is a request for the path that is the first argument.
func one(op string, args []string) ([]ipc.FileRequest, error) {
	p, err := absolute(args[0])
	return []ipc.FileRequest{{Op: op, Path: p}}, err
}

// absolute starts a path from the directory that sbx runs in. It is not made
// shorter: the daemon interprets "..", and a slash at the end.
func absolute(p string) (string, error) {
	if filepath.IsAbs(p) || p == "" {
		return p, nil
	}
	dir, err := here()
	return dir + "/" + p, err
}

func fileRead(a *app) *cobra.Command {
	var offset, limit int64
	c := a.fileCommand("read [flags] PATH", "Print a file", "",
		"  sbx file read README.md\n  sbx file read --offset 1000 --limit 200 big.log",
		cobra.ExactArgs(1), reading, func(_ *cobra.Command, args []string) ([]ipc.FileRequest, error) {
			list, err := one("read", args)
			list[0].Offset, list[0].Limit = offset, limit
			return list, err
		})
	c.Flags().Int64Var(&offset, "offset", 0, "bytes to leave out at the beginning")
	c.Flags().Int64Var(&limit, "limit", 0, "bytes to read at most (default 1 MiB)")
	return c
}

// contentFlags are those of the verbs that take a content.
type contentFlags struct {
	from    string
	exact   bool
	parents bool
	hash    string
}

func (f *contentFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.from, "from", "", "file that holds the content (default: standard input)")
	c.Flags().BoolVar(&f.exact, "exact", false, "keep the content's line ends, also where the file has others")
	ifHash(c, &f.hash)
}

func ifHash(c *cobra.Command, hash *string) {
	c.Flags().StringVar(hash, "if-hash", "", "only if the file's content still has this hash")
}

// maxContent bounds the content of one request: 8 MiB with its base64.
const maxContent = 5 << 20

// fill reads the content into a request.
func (f *contentFlags) fill(a *app, r *ipc.FileRequest) error {
	in, name := io.Reader(a.stdin), "standard input"
	if f.from != "" {
		file, err := os.Open(f.from)
		if err != nil {
			return err
		}
		defer file.Close()
		in, name = file, f.from
	}
	content, err := io.ReadAll(io.LimitReader(in, maxContent+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if len(content) > maxContent {
		return fmt.Errorf("%s holds more than %d MiB, which is the most that one request carries; copy it with a command",
			name, maxContent>>20)
	}
	r.Exact, r.Parents, r.IfHash = f.exact, f.parents, f.hash
	r.Content = string(content)
	if !utf8.Valid(content) {
		r.Content, r.Encoding = base64Text(content), "base64"
	}
	return nil
}

func fileWrite(a *app) *cobra.Command {
	var f contentFlags
	var fresh bool
	var mode string
	c := a.fileCommand("write [flags] PATH", "Create or overwrite a file with standard input",
		"It is written whole or not at all, and keeps mode, owner and attributes. A file whose owner or group\n"+
			"you can't give is written where it is; undo has what it held.",
		"  echo hello | sbx file write hello.txt\n  sbx file write --new --mode 755 --from build.sh bin/build",
		cobra.ExactArgs(1), changing,
		func(c *cobra.Command, args []string) ([]ipc.FileRequest, error) {
			list, err := one("write", args)
			if err != nil {
				return nil, err
			}
			if fresh {
				list[0].Op = "create"
			}
			if list[0].Mode, err = permissions(c, mode); err != nil {
				return nil, err
			}
			return list, f.fill(a, &list[0])
		})
	f.add(c)
	c.Flags().BoolVar(&fresh, "new", false, "only if there is none yet")
	c.Flags().BoolVarP(&f.parents, "parents", "p", false, "make missing folders on the way")
	c.Flags().StringVar(&mode, "mode", "", "permissions of a new file, octal")
	return c
}

func permissions(c *cobra.Command, text string) (uint32, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || n == 0 || n > 0o777 {
		return 0, usage(c, "--mode %q: want octal permissions such as 644", text)
	}
	return uint32(n), nil
}

func fileEdit(a *app) *cobra.Command {
	var find, replace, edits, hash string
	var count int
	c := a.fileCommand("edit [flags] PATH --find TEXT --replace TEXT  |  edit [flags] PATH --edits FILE",
		"Replace text in a file",
		"The text must be there exactly --count times. With --edits, a JSON array of\n"+
			"{\"find\", \"replace\", \"count\"} is applied in order, all of it or nothing; - is standard input.",
		"  sbx file edit main.go --find 'x := 1' --replace 'x := 2'\n  sbx file edit main.go --edits changes.json",
		cobra.ExactArgs(1), changing,
		func(c *cobra.Command, args []string) ([]ipc.FileRequest, error) {
			list, err := one("edit", args)
			if err != nil {
				return nil, err
			}
			list[0].IfHash = hash
			if edits != "" && c.Flags().Changed("find") {
				return nil, usage(c, "give either --find and --replace, or --edits")
			}
			if edits == "" {
				if !c.Flags().Changed("find") || !c.Flags().Changed("replace") {
					return nil, usage(c, "give --find and --replace, or --edits")
				}
				list[0].Edits = []ipc.Edit{{Find: find, Replace: replace, Count: count}}
				return list, nil
			}
			list[0].Op = "multi-edit"
			list[0].Edits, err = readEdits(a, edits)
			return list, err
		})
	f := c.Flags()
	f.StringVar(&find, "find", "", "the text to replace, exactly as in the file")
	f.StringVar(&replace, "replace", "", "what to put in its place")
	f.IntVar(&count, "count", 0, "how often the text must be there (default once)")
	f.StringVar(&edits, "edits", "", "`FILE` with several replacements")
	ifHash(c, &hash)
	return c
}

func readEdits(a *app, name string) ([]ipc.Edit, error) {
	in := a.stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	var list []ipc.Edit
	d := json.NewDecoder(io.LimitReader(in, maxContent))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("--edits %s: want a JSON array of {\"find\", \"replace\", \"count\"}: %w", name, err)
	}
	return list, nil
}

func fileAppend(a *app) *cobra.Command {
	var f contentFlags
	c := a.fileCommand("append [flags] PATH", "Append standard input to a file", "", "  date | sbx file append log.txt",
		cobra.ExactArgs(1), changing,
		func(_ *cobra.Command, args []string) ([]ipc.FileRequest, error) {
			list, err := one("append", args)
			if err != nil {
				return nil, err
			}
			return list, f.fill(a, &list[0])
		})
	f.add(c)
	return c
}

func fileInsert(a *app) *cobra.Command {
	var f contentFlags
	var anchor string
	var line int
	var before bool
	c := a.fileCommand("insert [flags] PATH --line N  |  insert [flags] PATH --anchor TEXT",
		"Insert standard input beside a line of a file",
		"The anchor must be there exactly once. Without --before it goes behind the line.",
		"  echo 'import os' | sbx file insert --line 1 --before main.py", cobra.ExactArgs(1), changing,
		func(c *cobra.Command, args []string) ([]ipc.FileRequest, error) {
			if c.Flags().Changed("line") == c.Flags().Changed("anchor") {
				return nil, usage(c, "give either --line or --anchor")
			}
			list, err := one("insert", args)
			if err != nil {
				return nil, err
			}
			list[0].Anchor, list[0].Line, list[0].Before = anchor, line, before
			return list, f.fill(a, &list[0])
		})
	f.add(c)
	c.Flags().StringVar(&anchor, "anchor", "", "text beside which it goes")
	c.Flags().IntVar(&line, "line", 0, "line beside which it goes, from 1; 0 is the end, with --before the beginning")
	c.Flags().BoolVar(&before, "before", false, "before it, not behind")
	return c
}
