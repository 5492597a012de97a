//go:build linux && cgo

package seccomp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"

	"sandboxd/profile"
)

// assemble has libseccomp write each stage of the policy and chains them.
func assemble(p Policy) ([]byte, []profile.Gap, error) {
	var parts [][]instruction
	var gaps []profile.Gap
	next := libseccomp.ActTrace.SetReturnCode(nextPart & 0xffff)
	answer := func(r rule) libseccomp.ScmpAction {
		if p.tells && r.reported() {
			return libseccomp.ActNotify
		}
		return action(r.Answer)
	}
	tell := func(rule) libseccomp.ScmpAction { return libseccomp.ActNotify }
	for i, s := range stages {
		otherwise := next
		if i == len(stages)-1 {
			otherwise = action(ENOSYS)
		}
		part, left, err := p.part(slices.DeleteFunc(slices.Clone(p.rules), func(r rule) bool { return !s.holds(r) }), answer,
			otherwise)
		if err != nil {
			return nil, nil, fmt.Errorf("seccomp %q: %w", s.name, err)
		}
		parts, gaps = append(parts, part), append(gaps, left...)
		if p.tells && s.name == watchedAfter {
			part, _, err := p.part(watched, tell, next)
			if err != nil {
				return nil, nil, fmt.Errorf("seccomp, watched calls: %w", err)
			}
			parts = append(parts, part)
		}
	}
	whole, err := chain(parts...)
	if err != nil {
		return nil, nil, err
	}
	return encode(whole), gaps, nil
}

// part assembles rules, each with the action of act; calls that none of them answers get otherwise.
func (p Policy) part(rules []rule, act func(rule) libseccomp.ScmpAction,
	otherwise libseccomp.ScmpAction) ([]instruction, []profile.Gap, error) {
	filter, err := newFilter(p.arch, otherwise)
	if err != nil {
		return nil, nil, err
	}
	defer filter.Release()
	var gaps []profile.Gap
	for _, r := range rules {
		if act(r) == otherwise {
			continue // libseccomp refuses rules equal to the default
		}
		for _, name := range r.Calls {
			err := p.add(filter, r, name, act(r))
			switch {
			case errors.Is(err, errUnknownHere) && r.Answer == Allow:
				gaps = append(gaps, profile.Gap{Mechanism: "seccomp", Protection: "syscalls", Object: name,
					Why:    "this libseccomp has no number for it on " + p.arch.String() + "; it gets ENOSYS",
					Remedy: "make the filter on that architecture"})
			case errors.Is(err, errUnknownHere): // refused by the default
			case err != nil:
				return nil, nil, fmt.Errorf("call %q: %w", name, err)
			}
		}
	}
	part, err := export(filter)
	return part, gaps, err
}

// errUnknownHere is a call that libseccomp cannot translate from the machine's architecture to another.
var errUnknownHere = errors.New("unknown to libseccomp")

// add puts one call of one rule into the filter; a call that the architecture does not have needs no rule.
func (p Policy) add(filter *libseccomp.ScmpFilter, r rule, name string, act libseccomp.ScmpAction) error {
	number, known, err := p.arch.nativeNumber(name)
	if err != nil || !known {
		return err
	}
	conditions := make([]libseccomp.ScmpCondition, len(r.When))
	for i, t := range r.When {
		if conditions[i], err = libseccomp.MakeCondition(uint(t.Arg), libseccomp.CompareMaskedEqual, t.Mask,
			t.Value); err != nil {
			return err
		}
	}
	return filter.AddRuleConditionalExact(number, act, conditions)
}

// nativeNumber is the number libseccomp wants for a call: always that of the machine it runs on, which it translates
// by name when the filter is for another one (seccomp_rule_add(3)).
func (a Arch) nativeNumber(name string) (libseccomp.ScmpSyscall, bool, error) {
	c, known := find(name)
	if !known {
		return 0, false, fmt.Errorf("no such system call")
	}
	want, known := a.number(c)
	if !known {
		return 0, false, nil
	}
	if Native() == a {
		return libseccomp.ScmpSyscall(want), true, nil
	}
	got, err := libseccomp.GetSyscallFromNameByArch(name, a.library())
	if err != nil || int(got) != want {
		return 0, false, errUnknownHere
	}
	here, err := libseccomp.GetSyscallFromName(name)
	if err != nil {
		return 0, false, errUnknownHere
	}
	return here, true, nil
}

func (a Arch) library() libseccomp.ScmpArch {
	if a == ARM64 {
		return libseccomp.ArchARM64
	}
	return libseccomp.ArchAMD64
}

// newFilter is an empty filter for arch alone. A foreign architecture, x32 among them, is killed as a process:
// libseccomp's own default would end one thread and leave the others in an unknown state.
func newFilter(arch Arch, otherwise libseccomp.ScmpAction) (*libseccomp.ScmpFilter, error) {
	filter, err := libseccomp.NewFilter(otherwise)
	if err != nil {
		return nil, err
	}
	err = func() error {
		if native, err := libseccomp.GetNativeArch(); err != nil {
			return err
		} else if native != arch.library() {
			if err := filter.AddArch(arch.library()); err != nil {
				return err
			}
			if err := filter.RemoveArch(native); err != nil {
				return err
			}
		}
		if err := filter.SetBadArchAction(libseccomp.ActKillProcess); err != nil {
			return err
		}
		return filter.SetOptimize(2) // a binary tree of numbers
	}()
	if err != nil {
		filter.Release()
		return nil, err
	}
	return filter, nil
}

func action(a Answer) libseccomp.ScmpAction {
	switch a {
	case Allow:
		return libseccomp.ActAllow
	case Kill:
		return libseccomp.ActKillProcess
	}
	return libseccomp.ActErrno.SetReturnCode(int16(a))
}

// export takes the program out through a memfd: libseccomp 2.5 writes to descriptors only.
func export(filter *libseccomp.ScmpFilter) ([]instruction, error) {
	fd, err := unix.MemfdCreate("seccomp", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), "seccomp")
	defer file.Close()
	if err := filter.ExportBPF(file); err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	program, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	return decode(program)
}
