"""Builds the native part beside the package, with the compiler of the system."""
import os
import subprocess
import sysconfig

os.makedirs("build", exist_ok=True)
suffix = sysconfig.get_config_var("EXT_SUFFIX")
include = sysconfig.get_path("include")
subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-I" + include, "codecs_native.c", "-o", "sound/_native" + suffix], check=True)
