package profile

// Everything returns the profile that grants everything: the base of a ceiling that only forbids.
func Everything() Profile {
	return Profile{assemble(draft{
		points: []point{{"/", func(Cursor) turn {
			return turn{state{access: fullAccess}, Rule{Kind: Allow, Access: fullAccess, Path: "/", Origin: "everything"}}
		}}},
		network:   Network{Mode: NetFull, ListenAny: true},
		env:       Environment{Pass: []string{"*"}, PassSecrets: true},
		syscalls:  SyscallGroups(),
		processes: ProcessesHost,
	})}
}
