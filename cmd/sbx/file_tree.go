package main

import (
	"encoding/base64"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

func base64Text(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func fileDelete(a *app) *cobra.Command {
	var hash string
	c := a.fileCommand("delete [flags] PATH…", "Move files to the trash", "Folders are taken away by rmdir.",
		"  sbx file delete old.txt", cobra.MinimumNArgs(1), changing,
		func(c *cobra.Command, args []string) ([]ipc.FileRequest, error) {
			if hash != "" && len(args) > 1 {
				return nil, usage(c, "--if-hash is about one file")
			}
			var list []ipc.FileRequest
			for i := range args {
				r, err := one("delete", args[i:])
				if err != nil {
					return nil, err
				}
				r[0].IfHash = hash
				list = append(list, r[0])
			}
			return list, nil
		})
	ifHash(c, &hash)
	return c
}

// fileTwo is a verb with a source and a destination.
func fileTwo(a *app, op, short string) *cobra.Command {
	var parents bool
	var hash string
	c := a.fileCommand(op+" [flags] FROM TO", short, "TO is the new name itself, not the folder that it goes to.",
		"  sbx file "+op+" a.txt docs/a.txt -p", cobra.ExactArgs(2), changing,
		func(_ *cobra.Command, args []string) ([]ipc.FileRequest, error) {
			list, err := one(op, args)
			if err == nil {
				list[0].To, err = absolute(args[1])
			}
			list[0].Parents, list[0].IfHash = parents, hash
			return list, err
		})
	c.Flags().BoolVarP(&parents, "parents", "p", false, "make missing folders on the way")
	ifHash(c, &hash)
	return c
}

func fileMkdir(a *app) *cobra.Command {
	var parents bool
	var mode string
	c := a.fileCommand("mkdir [flags] PATH", "Make a folder", "", "  sbx file mkdir -p docs/notes", cobra.ExactArgs(1),
		changing,
		func(c *cobra.Command, args []string) ([]ipc.FileRequest, error) {
			list, err := one("mkdir", args)
			if err != nil {
				return nil, err
			}
			list[0].Parents = parents
			list[0].Mode, err = permissions(c, mode)
			return list, err
		})
	c.Flags().BoolVarP(&parents, "parents", "p", false, "make missing folders on the way; one that is there is no error")
	c.Flags().StringVar(&mode, "mode", "", "permissions, octal")
	return c
}

func fileRmdir(a *app) *cobra.Command {
	var recursive bool
	c := a.fileCommand("rmdir [flags] PATH", "Take a folder away", "", "  sbx file rmdir build\n  sbx file rmdir -r build",
		cobra.ExactArgs(1), changing,
		func(_ *cobra.Command, args []string) ([]ipc.FileRequest, error) {
			list, err := one("rmdir", args)
			list[0].Recursive = recursive
			return list, err
		})
	c.Flags().BoolVarP(&recursive, "recursive", "r", false, "with all that it holds, which goes to the trash")
	return c
}

func fileList(a *app) *cobra.Command {
	var recursive bool
	var glob string
	var limit int64
	c := a.fileCommand("ls [flags] [PATH]", "List a folder", "", "  sbx file ls\n  sbx file ls -r --glob '*.go' src",
		cobra.MaximumNArgs(1), reading,
		func(_ *cobra.Command, args []string) ([]ipc.FileRequest, error) {
			list, err := one("list", append(args, "."))
			list[0].Recursive, list[0].Glob, list[0].Limit = recursive, glob, limit
			return list, err
		})
	f := c.Flags()
	f.BoolVarP(&recursive, "recursive", "r", false, "and what its folders hold")
	f.StringVar(&glob, "glob", "", "only names that match")
	f.Int64Var(&limit, "limit", 0, "entries at most (default 1000)")
	return c
}

func fileGrep(a *app) *cobra.Command {
	var glob string
	var limit int64
	var context int
	c := a.fileCommand("grep [flags] PATTERN [PATH]", "Search files below a folder for a regular expression (RE2)",
		"Binary and large files are passed over, and counted. Without a match the exit status is 1.",
		"  sbx file grep -C 2 'func main' src --glob '*.go'", cobra.RangeArgs(1, 2), reading,
		func(_ *cobra.Command, args []string) ([]ipc.FileRequest, error) {
			list, err := one("grep", append(args[1:], "."))
			r := &list[0]
			r.Pattern, r.Recursive, r.Glob, r.Limit, r.Context = args[0], true, glob, limit, context
			return list, err
		})
	f := c.Flags()
	f.StringVar(&glob, "glob", "", "only files whose name matches")
	f.Int64Var(&limit, "limit", 0, "matches at most")
	f.IntVarP(&context, "context", "C", 0, "lines to show before and after")
	return c
}

func fileStat(a *app) *cobra.Command {
	return a.fileCommand("stat [flags] PATH", "Say what a path is", "", "  sbx file stat README.md", cobra.ExactArgs(1),
		reading,
		func(_ *cobra.Command, args []string) ([]ipc.FileRequest, error) { return one("stat", args) })
}
