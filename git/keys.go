package git

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"sandboxd/profile/abspath"
)

// Kind is the effect that a configuration key can have.
type Kind int

const (
	// Unknown keys are not in the list. They count as Program: git has many that are, and gets more.
	Unknown Kind = iota
	// Harmless keys start nothing and lead git nowhere.
	Harmless
	// Program keys name a program, options of one, or a tool that git finds by its name.
	Program
	// Redirect keys lead git to another configuration, work tree, hook directory, host or output file, or loosen a
	// refusal of git.
	Redirect
	// Trigger keys make git run a program that another key names, or run git in a submodule.
	Trigger
	// Access keys hold a credential or decide how one is sent.
	Access
)

var kindNames = []string{"unknown", "harmless", "program", "redirect", "trigger", "access"}

func (k Kind) String() string { return kindNames[k] }

// keys is the one list of configuration keys: lower case, "*" for any name or subsection. A key counts by its most
// literal entry. Sections that git's scripts read have no harmless key with "*" for its name: tools come and bring
// their own, such as mergetool.*.layout, which a shell evaluates.
var keys = map[Kind]string{
	Program: `alias.* alias.*.* branch.*.mergeoptions browser.*.cmd browser.*.path core.alternaterefscommand
		core.askpass core.editor core.fsmonitor core.gitproxy core.pager core.sshcommand credential.*.helper
		credential.helper diff.*.command diff.*.textconv diff.external diff.guitool diff.tool difftool.*.cmd
		difftool.*.path filter.*.clean filter.*.process filter.*.smudge gc.recentobjectshook gitcvs.* gitcvs.*.*
		gpg.*.program gpg.program gpg.ssh.defaultkeycommand gui.* gui.*.* guitool.*.cmd help.browser hook.*.command
		imap.*.tunnel imap.tunnel instaweb.browser instaweb.httpd instaweb.modulepath interactive.difffilter
		man.*.cmd man.*.path man.viewer merge.*.driver merge.guitool merge.tool mergetool.*.cmd mergetool.*.layout
		mergetool.*.path pager.* pager.*.* pull.octopus pull.twohead remote.*.receivepack remote.*.uploadpack
		remote.*.vcs sendemail.* sendemail.*.* sequence.editor submodule.*.update svn-remote.* svn-remote.*.* svn.*
		svn.*.* trailer.*.cmd trailer.*.command uploadpack.packobjectshook web.browser`,
	Redirect: `attr.tree bundle.*.uri core.attributesfile core.hookspath core.notesref core.restrictinheritedhandles
		core.unsetenvvars core.worktree credential.usehttppath fetch.bundleuri fetch.fsck.skiplist
		format.outputdirectory fsck.skiplist fsmonitor.* fsmonitor.socketdir gpg.ssh.allowedsignersfile
		gpg.ssh.revocationfile help.htmlpath http.* http.*.* imap.* imap.*.* include.path includeif.*.path
		init.templatedir instaweb.local instaweb.port protocol.*.allow protocol.allow receive.fsck.skiplist
		remote.*.proxy remote.*.pushurl remote.*.serveroption remote.*.url safe.* ssh.variant submodule.*.url
		submodule.alternateerrorstrategy submodule.alternatelocation trace2.* transfer.credentialsinurl
		url.*.insteadof url.*.pushinsteadof`,
	Trigger: `core.fsmonitorhookversion diff.*.cachetextconv diff.submodule difftool.prompt
		filter.*.required format.pretty help.autocorrect log.diffmerges mergetool.prompt pretty.* pretty.*.*
		rebase.instructionformat receive.certnonceseed receive.procreceiverefs`,
	Access: `credential.* credential.*.* credentialcache.* credentialstore.* remote.*.proxyauthmethod`,
	Harmless: `add.ignoreerrors add.interactive.usebuiltin advice.*
		am.keepcr am.threeway apply.ignorewhitespace apply.whitespace author.* blame.*
		branch.* branch.*.description branch.*.merge branch.*.pushremote branch.*.rebase branch.*.remote bundle.*.*
		bundle.* bundle.mode bundle.version checkout.* clean.requireforce clone.defaultremotename clone.filtersubmodules
		clone.rejectshallow color.* color.*.* column.* commit.cleanup commit.gpgsign commit.status commit.template
		commit.verbose commitgraph.* committer.* completion.commands core.abbrev core.alternaterefsprefixes
		core.autocrlf
		core.bare core.bigfilethreshold core.checkroundtripencoding core.checkstat core.commentchar core.commitgraph
		core.compression core.createobject core.deltabasecachelimit core.eol core.excludesfile core.filemode
		core.filesreflocktimeout core.fscache core.fsync core.fsyncmethod core.fsyncobjectfiles core.hidedotfiles
		core.ignorecase core.ignorestat core.logallrefupdates core.longpaths core.loosecompression core.maxtreedepth
		core.multipackindex core.packedgitlimit core.packedgitwindowsize core.packedrefstimeout core.precomposeunicode
		core.prefersymlinkrefs core.preloadindex core.protecthfs core.protectntfs core.quotepath
		core.repositoryformatversion core.safecrlf core.sharedrepository core.sparsecheckout core.sparsecheckoutcone
		core.splitindex core.symlinks core.trustctime core.untrackedcache core.usereplacerefs core.warnambiguousrefs
		core.whitespace diff.*.algorithm diff.*.binary diff.*.funcname diff.*.trustexitcode diff.*.wordregex
		diff.*.xfuncname diff.algorithm diff.autorefreshindex diff.colormoved diff.colormovedws diff.context
		diff.dirstat diff.ignoresubmodules diff.indentheuristic diff.interhunkcontext diff.mnemonicprefix
		diff.noprefix diff.orderfile diff.relative diff.renamelimit diff.renames diff.statgraphwidth
		diff.suppressblankempty diff.wordregex diff.wserrorhighlight difftool.trustexitcode
		extensions.compatobjectformat extensions.noop extensions.objectformat extensions.partialclone
		extensions.preciousobjects
		extensions.refstorage extensions.relativeworktrees extensions.worktreeconfig fastimport.* feature.* fetch.*
		fetch.fsck.* format.attach format.cc format.coverfromdescription format.coverletter format.encodeemailheaders
		format.filenamemaxlength format.forceinbodyfrom format.from format.headers format.notes format.numbered
		format.signature format.signaturefile format.signoff format.subjectprefix format.suffix format.thread
		format.to format.useautobase fsck.* gc.*.* gc.aggressivedepth gc.aggressivewindow gc.auto gc.autodetach
		gc.autopacklimit gc.bigpackthreshold gc.cruftpacks gc.logexpiry gc.packrefs gc.pruneexpire gc.reflogexpire
		gc.reflogexpireunreachable gc.rerereresolved gc.rerereunresolved gc.worktreepruneexpire gc.writecommitgraph
		gitweb.avatar gitweb.blame gitweb.category gitweb.description gitweb.grep gitweb.highlight gitweb.owner
		gitweb.patches gitweb.pickaxe gitweb.remote_heads gitweb.showsizes gitweb.snapshot gitweb.url gpg.format
		gpg.mintrustlevel grep.column grep.extendedregexp grep.fallbacktonoindex grep.fullname
		grep.linenumber grep.patterntype grep.threads guitool.*.argprompt guitool.*.confirm guitool.*.needsfile
		guitool.*.noconsole guitool.*.norescan guitool.*.prompt guitool.*.revprompt guitool.*.revunmerged
		guitool.*.title help.format i18n.* index.* init.defaultbranch
		interactive.singlekey lfs.*.access lfs.*.locksverify lfs.repositoryformatversion log.abbrevcommit log.date
		log.decorate log.excludedecoration log.follow log.graphcolors log.initialdecorationset log.mailmap
		log.showroot log.showsignature lsrefs.* mailinfo.* mailmap.blob mailmap.file maintenance.*.* maintenance.auto
		maintenance.strategy merge.*.name merge.*.recursive merge.autostash merge.branchdesc merge.conflictstyle
		merge.defaulttoupstream merge.directoryrenames merge.ff merge.log merge.renamelimit merge.renames
		merge.renormalize merge.stat merge.suppressdest merge.verbosity merge.verifysignatures mergetool.*.hideresolved
		mergetool.*.trustexitcode mergetool.hideresolved mergetool.keepbackup mergetool.keeptemporaries
		mergetool.meld.hasoutput
		mergetool.meld.useautomerge mergetool.writetotemp notes.*.*
		notes.displayref notes.mergestrategy notes.rewritemode notes.rewriteref pack.* protocol.version pull.ff
		pull.rebase push.* rebase.* receive.advertiseatomic receive.advertisepushoptions receive.autogc
		receive.certnonceslop receive.denycurrentbranch receive.denydeletecurrent receive.denydeletes
		receive.denynonfastforwards receive.fsck.* receive.fsckobjects receive.hiderefs receive.keepalive
		receive.maxinputsize receive.shallowupdate receive.unpacklimit receive.updateserverinfo remote.*.fetch
		remote.*.followremotehead remote.*.mirror remote.*.partialclonefilter remote.*.promisor remote.*.prune
		remote.*.prunetags remote.*.push remote.*.skipdefaultupdate remote.*.skipfetchall remote.*.tagopt
		remote.pushdefault remotes.* repack.cruftdepth repack.cruftthreads repack.cruftwindow repack.cruftwindowmemory
		repack.packkeptobjects repack.updateserverinfo repack.usedeltabaseoffset repack.usedeltaislands
		repack.writebitmaps rerere.* revert.* showbranch.* sparse.* splitindex.* stash.* status.* submodule.*
		submodule.*.active submodule.*.branch submodule.*.fetchrecursesubmodules submodule.*.ignore
		submodule.*.shallow tag.forcesignannotated tag.gpgsign tag.sort tar.umask transfer.advertisesid
		transfer.fsckobjects transfer.hiderefs transfer.unpacklimit uploadarchive.allowunreachable
		uploadpack.allowanysha1inwant uploadpack.allowfilter uploadpack.allowreachablesha1inwant
		uploadpack.allowrefinwant uploadpack.allowtipsha1inwant uploadpack.hiderefs uploadpack.keepalive
		uploadpackfilter.* uploadpackfilter.*.* user.* versionsort.* worktree.*`,
}

// kinds finds an entry of the list.
var kinds = func() map[string]Kind {
	out := map[string]Kind{}
	for kind, list := range keys {
		for _, key := range strings.Fields(list) {
			out[key] = kind
		}
	}
	return out
}()

// KindOf classifies the key of a setting, whatever its value.
func KindOf(s Setting) Kind {
	forms := []string{s.Section + "." + s.Name, s.Section + ".*"}
	if s.HasSub || s.Sub != "" {
		sub := strings.ToLower(s.Sub)
		forms = []string{s.Section + "." + sub + "." + s.Name, s.Section + ".*." + s.Name, s.Section + "." + sub + ".*",
			s.Section + ".*.*"}
	}
	for _, f := range forms {
		if kind, ok := kinds[f]; ok {
			return kind
		}
	}
	return Unknown
}

var (
	plainBoolean = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|0|1|)$`)
	helperURL    = regexp.MustCompile(`^[A-Za-z0-9+.-]+::`) // gitremote-helpers(7)
)

// runsAs reports whether git takes a remote's name or address for a program to run, or for an option of git fetch.
func runsAs(remote string) bool {
	return helperURL.MatchString(remote) || strings.HasPrefix(remote, "-")
}

// MayChange reports whether a command may leave a setting in the repository at dir, in the tree at root, without a
// grant: it can neither start a program nor lead git to other files. Addresses of remotes are judged together
// ([Routes.Redirected]).
func MayChange(s Setting, dir, root string) bool {
	section := s.Section
	if s.Sub != "" {
		section += "."
	}
	switch section + " " + s.Name {
	case "core fsmonitor": // a boolean means git's own
		return plainBoolean.MatchString(s.Value)
	case "core worktree":
		if path.IsAbs(s.Value) {
			return abspath.Contains(root, path.Clean(s.Value))
		}
		return abspath.Contains(root, path.Join(dir, s.Value))
	case "remote. url", "remote. pushurl", "submodule. url", "branch. remote", "branch. pushremote",
		"remote pushdefault", "extensions partialclone", "remotes " + s.Name:
		return !slices.ContainsFunc(strings.Fields(s.Value), runsAs)
	case "submodule. update":
		return !strings.HasPrefix(s.Value, "!")
	}
	return KindOf(s) == Harmless
}

// Portable reports whether a setting of a person's own configuration may be copied into a sandbox: it neither holds
// nor fetches a secret, and git can do without the program that it names. looksSecret judges the name in upper case.
func Portable(s Setting, looksSecret func(name string) bool) bool {
	if KindOf(s) == Access || slices.Contains([]string{"credential", "include", "includeif", "http", "https", "url",
		"sendemail", "imap", "remote", "gpg"}, s.Section) {
		return false
	}
	switch s.Section + "." + s.Name {
	case "core.askpass", "core.sshcommand", "core.gitproxy", "core.fsmonitor", "core.hookspath", "core.pager",
		"core.attributesfile", "core.excludesfile",
		"commit.gpgsign", "tag.gpgsign", "user.signingkey":
		return false
	}
	return !looksSecret(strings.ToUpper(s.Name)) && !(strings.Contains(s.Value, "://") && strings.Contains(s.Value, "@"))
}
