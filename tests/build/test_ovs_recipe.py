# SPDX-License-Identifier: Apache-2.0
"""The recipe that builds Open vSwitch, run on a small tree that has the
recipe's view of Open vSwitch's: what is compiled when, and what it says when
a patch does not apply."""

import os
import shutil
import subprocess
import tarfile

import pytest

CONFIGURE = """\
#!/bin/sh
PACKAGE_VERSION='%s'
prefix=${1#--prefix=}
sed "s|@prefix@|$prefix|" Makefile.in >Makefile
: >config.h
: >config.status
echo configured >>history
"""

# Compiles each source once, and notes which.
MAKEFILE = """\
OBJS = $(patsubst %.c,%.o,$(wildcard lib/*.c))
all: $(OBJS)
%.o: %.c lib/util.h
\t@echo "compiled $<" >>history
\tgcc -c -o $@ $<
install:
\tmkdir -p @prefix@/sbin
\techo 'exit 0' >@prefix@/sbin/ovs-vswitchd
\tchmod 755 @prefix@/sbin/ovs-vswitchd
\t@echo installed >>history
"""

FILES = {
    "Makefile.in": MAKEFILE,
    "Makefile.am": "",
    "configure.ac": "",
    "acinclude.m4": "",
    "m4/a.m4": "",
    "include/odp-netlink.h": "",
    "lib/util.h": "#define UTIL 1\n",
    "lib/one.c": "int one(void);\nint one(void)\n{\n    return 1;\n}\n",
    "lib/two.c": "int two(void);\nint two(void)\n{\n    return 2;\n}\n",
}

PATCH_ONE = """\
From 0 Mon Sep 17 00:00:00 2001
Subject: [PATCH] one: Return more.

It was too little.
---
 lib/one.c | 2 +-

diff --git a/lib/one.c b/lib/one.c
--- a/lib/one.c
+++ b/lib/one.c
@@ -2,4 +2,4 @@
 int one(void)
 {
-    return 1;
+    return 11;
 }
--\x20
2.39.5
"""

PATCH_NEW = """\
diff --git a/lib/three.c b/lib/three.c
new file mode 100644
--- /dev/null
+++ b/lib/three.c
@@ -0,0 +1,1 @@
+int three;
"""


class Checkout:
    """A directory with the recipe and a tar file for it."""

    def __init__(self, path):
        self.path = path
        self.patches = path / "ovs-ext/patches"
        self.src = path / "ovs-ext/src"
        self.tree = path / "build/ovs-src"
        self.patches.mkdir(parents=True)
        self.src.mkdir()
        shutil.copy("ovs-ext/build", path / "ovs-ext/build")
        self.pack("3.1.0")

    def pack(self, version, **changes):
        source = self.path / "openvswitch"
        shutil.rmtree(source, ignore_errors=True)
        for name, text in {**FILES, **changes}.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(text)
        (source / "configure").write_text(CONFIGURE % version)
        (source / "configure").chmod(0o755)
        self.tar = self.path / "openvswitch.tar.gz"
        with tarfile.open(self.tar, "w:gz") as tar:
            tar.add(source, "openvswitch")

    def series(self, **patches):
        names = []
        for name, text in patches.items():
            (self.patches / (name + ".patch")).write_text(text)
            names.append(name + ".patch  # Comment.\n")
        (self.patches / "series").write_text("# Comment.\n" + "".join(names))

    def source(self, name, text):
        (self.src / name).parent.mkdir(parents=True, exist_ok=True)
        (self.src / name).write_text(text)

    def build(self, variant="patched"):
        """Returns the exit status, the output, and what was done."""
        history = self.path / "build" / (
            "ovs-src" if variant == "patched" else "ovs-%s-src" % variant
        ) / "history"
        if history.exists():
            history.unlink()
        env = dict(os.environ, OVS_SOURCE=str(self.tar), JOBS="1")
        done = subprocess.run([str(self.path / "ovs-ext/build"), variant],
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=env)
        steps = history.read_text().split("\n")[:-1] if history.exists() \
            else []
        return done.returncode, done.stdout, sorted(steps)


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


def test_builds_once(checkout):
    status, output, steps = checkout.build()
    assert status == 0, output
    assert steps == ["compiled lib/one.c", "compiled lib/two.c", "configured",
                     "installed"]
    assert (checkout.path / "build/ovs/sbin/ovs-vswitchd").exists()
    assert (checkout.path / "build/ovs/include/lib/util.h").exists()

    status, output, steps = checkout.build()
    assert (status, steps) == (0, [])


def test_patch_and_source_compile_only_what_they_touch(checkout):
    checkout.build()

    checkout.series(one=PATCH_ONE)
    assert checkout.build()[2] == ["compiled lib/one.c", "installed"]
    assert "return 11" in (checkout.tree / "lib/one.c").read_text()

    checkout.source("lib/ours.c", "int ours;\n")
    assert checkout.build()[2] == ["compiled lib/ours.c", "installed"]

    # The text of the patch changes, and what it does stays the same.
    checkout.series(one=PATCH_ONE.replace("too little", "much too little"))
    assert checkout.build()[2] == []


def test_what_is_taken_out_is_taken_back(checkout):
    checkout.series(one=PATCH_ONE, new=PATCH_NEW)
    checkout.source("lib/ours.c", "int ours;\n")
    assert checkout.build()[0] == 0
    assert (checkout.tree / "lib/three.c").exists()

    checkout.series()
    (checkout.src / "lib/ours.c").unlink()
    assert checkout.build()[0] == 0
    assert "return 1;" in (checkout.tree / "lib/one.c").read_text()
    assert not (checkout.tree / "lib/three.c").exists()
    assert not (checkout.tree / "lib/ours.c").exists()


def test_refused_hunk_is_named(checkout):
    checkout.pack("3.1.9", **{"lib/one.c": FILES["lib/one.c"].replace(
        "return 1", "return 5")})
    checkout.series(new=PATCH_NEW, one=PATCH_ONE)
    status, output, steps = checkout.build()
    assert status != 0
    assert steps == []
    assert "patch one.patch does not apply" in output
    assert "file lib/one.c, hunk 1, at line 2" in output
    assert "met: 3.1.9" in output
    assert "expected: 3.1.0" in output
    assert "+    return 11;" in output


def test_patch_of_a_file_that_is_missing(checkout):
    checkout.series(one=PATCH_ONE.replace("lib/one.c", "lib/gone.c"))
    status, output, _ = checkout.build()
    assert status != 0
    assert "one.patch does not apply" in output
    assert "lib/gone.c" in output


def test_patch_that_is_missing(checkout):
    checkout.series(one=PATCH_ONE)
    (checkout.patches / "one.patch").unlink()
    status, output, _ = checkout.build()
    assert status != 0
    assert "one.patch, which does not exist" in output.replace("\novs-ext:",
                                                               "")


def test_source_must_not_replace_a_file(checkout):
    checkout.source("lib/two.c", "int two;\n")
    status, output, _ = checkout.build()
    assert status != 0
    assert "src/lib/two.c would replace" in output


def test_continues_where_it_stopped(checkout):
    checkout.source("lib/zero.c", "syntax error\n")
    status, output, steps = checkout.build()
    assert status != 0
    assert "zero.c:1" in output                 # The end of the log.
    assert "configured" in steps
    assert "installed" not in steps

    checkout.source("lib/zero.c", "int zero;\n")
    status, output, steps = checkout.build()
    assert status == 0
    assert "configured" not in steps
    assert "compiled lib/one.c" not in steps
    assert steps[-1] == "installed"


def test_stock_variant_has_nothing_of_ours(checkout):
    checkout.series(one=PATCH_ONE)
    checkout.source("lib/ours.c", "int ours;\n")
    status, _, steps = checkout.build("stock")
    assert status == 0
    assert "compiled lib/ours.c" not in steps
    assert (checkout.path / "build/ovs-stock/sbin/ovs-vswitchd").exists()
    assert not (checkout.path / "build/ovs").exists()


def test_bench_variant_adds_its_patches_and_sources(checkout):
    checkout.series(one=PATCH_ONE)
    checkout.source("lib/ours.c", "int ours;\n")
    (checkout.patches / "new.patch").write_text(PATCH_NEW)
    (checkout.patches / "series.bench").write_text("new.patch\n")
    bench_only = checkout.path / "ovs-ext/bench-src/lib/hook.c"
    bench_only.parent.mkdir(parents=True)
    bench_only.write_text("int hook;\n")

    added = {"compiled lib/three.c", "compiled lib/hook.c"}
    steps = set(checkout.build("bench")[2])
    assert added | {"compiled lib/ours.c"} <= steps
    steps = set(checkout.build("patched")[2])
    assert not added & steps and "compiled lib/ours.c" in steps


def test_new_source_starts_anew(checkout):
    checkout.build()
    checkout.pack("3.1.0", **{"lib/four.c": "int four;\n"})
    status, _, steps = checkout.build()
    assert status == 0
    assert "configured" in steps
    assert "compiled lib/four.c" in steps


def test_missing_source_says_what_to_do(checkout):
    checkout.tar.unlink()
    status, output, _ = checkout.build()
    assert status != 0
    assert "make deps" in output
