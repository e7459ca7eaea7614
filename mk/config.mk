# SPDX-License-Identifier: Apache-2.0
#
# Tools, flags and directories; nothing here depends on the fragments.

prefix ?= /usr/local
bindir ?= $(prefix)/bin
sbindir ?= $(prefix)/sbin
mandir ?= $(prefix)/share/man
completiondir ?= $(prefix)/share/bash-completion/completions
docdir ?= $(prefix)/share/doc/evlb
sysconfdir ?= $(prefix)/etc
unitdir ?= $(prefix)/lib/systemd/system
wiresharkdir ?= $(prefix)/lib/wireshark/plugins

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 20

CC := gcc
CLANG := clang
OPT ?= -O2 -g -fstack-protector-strong -D_FORTIFY_SOURCE=2
LDFLAGS ?= -Wl,-z,relro,-z,now
# Debian's own Python, where the Debian packages of Python modules are;
# another python3 may come first in PATH.
PYTHON := /usr/bin/python3
PYTEST := $(PYTHON) -m pytest -q -p no:cacheprovider
export PYTHONDONTWRITEBYTECODE := yes

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wpointer-arith -Wcast-align -Wvla \
	-Wformat=2 -Wno-format-nonliteral -Wswitch-enum -Wundef -Werror
# banned.h lets calls of unbounded string functions fail to compile.
BASE_CFLAGS := -std=gnu11 -D_GNU_SOURCE -DEVLB_VERSION='"$(VERSION)"' \
	-fno-strict-aliasing -pthread -I. -isystem build/gen \
	-include mk/banned.h
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
SAN_CFLAGS := -O1 -g $(SANITIZE)
FUZZ_CFLAGS := -O1 -g -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=all -fno-omit-frame-pointer

# Open vSwitch as "make ovs" installs it.  Its headers are system headers for
# the compiler, so that they are held to upstream's set of warnings, not ours.
OVS := build/ovs
OVS_STAMP := build/stamps/ovs
DEPS_STAMP := build/stamps/deps
OVS_CFLAGS = -isystem $(OVS)/include -isystem $(OVS)/include/lib \
	$(subst -I,-isystem ,$(shell pkg-config --cflags-only-I libdpdk)) \
	-mssse3
OVS_LIBS = -Wl,--start-group -lopenvswitchavx512 \
	$(shell PKG_CONFIG_PATH=$(OVS)/lib/pkgconfig \
		pkg-config --static --libs libopenvswitch) -Wl,--end-group

empty :=
space := $(empty) $(empty)
ifeq ($(V),1)
  quiet =
else
  quiet = @printf '  %-7s %s\n' '$(1)' '$(2)';
endif
