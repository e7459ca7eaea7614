# SPDX-License-Identifier: Apache-2.0
#
# "make install" (honours DESTDIR, prefix and the other directories) and help.

INSTALL := install

# $(call install_files,MODE,DIRECTORY,FILES)
define install_files
$(if $(strip $(3)),$(INSTALL) -d '$(DESTDIR)$(2)'
	$(INSTALL) -m $(1) $(3) '$(DESTDIR)$(2)')
endef

bin_programs := $(foreach p,$(PROGRAMS),$(if $(filter sbin,$($(p)_DIR)),,$(p)))
sbin_programs := $(filter-out $(bin_programs),$(PROGRAMS))
man_sections := $(sort $(patsubst .%,%,$(suffix $(MANS))))

define install_man
$(call install_files,644,$(mandir)/man$(1),$(filter %.$(1),$(MANS)))

endef

# Files in which directories have to be put in.
.PHONY: FORCE
build/evlbd.service: controller/evlbd.service.in FORCE
	@mkdir -p $(@D)
	@sed -e 's,@sbindir@,$(sbindir),g' -e 's,@sysconfdir@,$(sysconfdir),g' \
		$< >$@

# What evlbctl's table of commands says.
build/man/evlbctl.8: man/evlbctl.8.in build/bin/evlbctl
	@mkdir -p $(@D)
	@build/bin/evlbctl help man >$@.commands
	@build/bin/evlbctl help man-options >$@.options
	@sed -e '/^@COMMANDS@$$/{' -e 'r $@.commands' -e 'd' -e '}' \
		-e '/^@OPTIONS@$$/{' -e 'r $@.options' -e 'd' -e '}' $< >$@

build/completion/evlbctl: build/bin/evlbctl
	@mkdir -p $(@D)
	@$< completion bash >$@

build/man/evlb.conf.5: docs/configuration.md man/from-markdown
	@mkdir -p $(@D)
	@man/from-markdown evlb.conf 5 'configuration of evlbd' $< >$@

.PHONY: install
install: programs $(UNITS) $(MANS) $(COMPLETIONS)
	$(call install_files,755,$(bindir),$(addprefix build/bin/,$(bin_programs)))
	$(call install_files,755,$(sbindir),$(addprefix build/bin/,$(sbin_programs)))
	$(call install_files,644,$(sysconfdir)/evlb,$(CONFIGS))
	$(call install_files,644,$(unitdir),$(UNITS))
	$(call install_files,644,$(wiresharkdir),$(WIRESHARK))
	$(call install_files,644,$(completiondir),$(COMPLETIONS))
	$(foreach s,$(man_sections),$(call install_man,$(s)))
	$(call install_files,644,$(docdir)/examples,$(EXAMPLES))
	$(call install_files,644,$(docdir),README.md LICENSE)
	$(call install_files,644,$(docdir)/docs,$(wildcard docs/*.md))

# Debian packages, of what is built, into build/deb.  debhelper works in a
# directory of its own, so that it leaves nothing in the sources.
.PHONY: deb
deb: all $(UNITS) $(MANS) $(COMPLETIONS)
	@rm -rf build/deb
	@mkdir -p build/deb/tree
	@cp -r debian build/deb/tree
	$(call quiet,DEB,build/deb)cd build/deb/tree && \
		DEB_RULES_REQUIRES_ROOT=no \
		DEB_BUILD_OPTIONS=noautodbgsym TOP='$(CURDIR)' \
		debian/rules binary >../log 2>&1 || { tail -n 40 ../log; exit 1; }
	@rm -rf build/deb/tree

.PHONY: help
help:
	@echo 'make [all]           install packages, build Open vSwitch and the programs'
	@echo 'make deps            install the Debian packages that are missing (root)'
	@echo 'make ovs             build the patched Open vSwitch into build/ovs'
	@echo 'make demo            send events through the switch and account for each (root)'
	@echo 'make check           run the tests (root); SUITES="a b" picks some of:'
	@echo '                     $(ALL_SUITES)'
	@echo 'make bench           measure the data path (root, hugepages)'
	@echo "make ovs-check       run all of Open vSwitch's own tests, compare with upstream"
	@echo 'make ovs-check-quick run those that touch what we change'
	@echo 'make install         install programs; DESTDIR= prefix= as usual'
	@echo 'make deb             make Debian packages in build/deb'
	@echo 'make format, tidy    clang-format in place; clang-tidy'
	@echo 'make clean           remove all but Open vSwitch; distclean: everything'
	@echo
	@echo 'V=1 shows the commands, JOBS=N bounds parallel jobs (now $(JOBS)).'
