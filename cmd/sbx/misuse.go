package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sandboxd/internal/spelling"
)

// checkArgs makes mistakes in the arguments of c and the verbs below it usage errors, and suggests the probable
// sub-verb for a mistyped one.
func checkArgs(c *cobra.Command) {
	check := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		if err := checkEmpty(c, args); err != nil {
			return err
		}
		if check == nil || check(c, args) == nil {
			return nil
		}
		if c.HasSubCommands() {
			return unknownVerb(c, args[0])
		}
		given := "no argument is given"
		if len(args) > 0 {
			given = fmt.Sprintf("the arguments are %q", args)
		}
		return usage(c, "%s: want %s", given, strings.Join(forms(c), "  or  "))
	}
	c.SuggestionsMinimumDistance = 2
	for _, sub := range c.Commands() {
		checkArgs(sub)
	}
}

// mayBeEmpty are the flags with a text that may be empty.
var mayBeEmpty = []string{"replace", "note", "description"}

// checkEmpty refuses an empty value of a flag, and an empty argument, which a script gives for a variable that is not
// set: it would count as absent. A command's own arguments may be empty.
func checkEmpty(c *cobra.Command, args []string) error {
	if c.DisableFlagParsing { // globalFlags checks those of sbx itself
		return nil
	}
	var empty []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if !f.Changed || !strings.HasPrefix(f.Value.Type(), "string") || slices.Contains(mayBeEmpty, f.Name) {
			return
		}
		if len(values) == 0 || slices.Contains(values, "") {
			empty = append(empty, f.Name)
		}
	})
	if len(empty) > 0 {
		return usage(c, "--%s is empty: give a value, or leave it out", empty[0])
	}
	if strings.Contains(c.Use, " -- ") { // a command follows
		args = args[:min(1, len(args))]
	}
	if slices.Contains(args, "") {
		return usage(c, "an argument is empty: want %s", strings.Join(forms(c), "  or  "))
	}
	return nil
}

// misread is an error of a flag's value or name: what the flag wants, or the flag that was probably meant.
func misread(c *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return usage(c, "%v%s", err, nearFlag(c, err))
	}
	want := bad.Unwrap().Error()
	switch kind := bad.GetFlag().Value.Type(); {
	case errors.Is(err, strconv.ErrRange):
		want = "want a number closer to 0"
	case strings.HasPrefix(kind, "int"):
		want = "want a whole number"
	case kind == "bool":
		want = "want true or false"
	}
	return usage(c, "--%s %q: %s", bad.GetFlag().Name, bad.GetValue(), want)
}

// nearFlag suggests the flag that was probably meant.
func nearFlag(c *cobra.Command, err error) string {
	_, name, ok := strings.Cut(err.Error(), "unknown flag: --")
	if !ok {
		return ""
	}
	if name == "yolo" {
		return "; `sbx mode approve-all` switches approvals off for one session, " +
			"`sandboxd --mode approve-all` for a daemon"
	}
	var names []string
	visit := func(f *pflag.Flag) { names = append(names, f.Name) }
	c.Flags().VisitAll(visit)
	c.InheritedFlags().VisitAll(visit)
	if best := spelling.Nearest(name, names); best != "" {
		return "; did you mean --" + best + "?"
	}
	return ""
}
