# SPDX-License-Identifier: Apache-2.0
"""The runtime for Linux out of the archive beside this file: conan create ."""

import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir, unzip


class IngotConan(ConanFile):
    name = "ingot"
    version = "@VERSION@"
    description = "Runs trained networks from one mapped file in one preallocated arena"
    license = "Apache-2.0"
    topics = ("inference", "neural-network", "onnx", "tflite")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "system_flatbuffers": [True, False]}
    default_options = {"shared": False, "system_flatbuffers": False}
    exports_sources = "ingot-@VERSION@.tar.xz"

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Ingot runs on Linux and on bare metal")

    def layout(self):
        cmake_layout(self, src_folder="src")

    def requirements(self):
        if not self.options.system_flatbuffers:
            self.requires("flatbuffers/[>=22 <26]", headers=True, libs=False)

    def build_requirements(self):
        if not self.options.system_flatbuffers:
            self.tool_requires("flatbuffers/<host_version>")

    def source(self):
        archive = os.path.join(self.export_sources_folder, f"ingot-{self.version}.tar.xz")
        unzip(self, archive, strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name in ("TOOLS", "TESTS", "CUDA"):
            toolchain.cache_variables[f"INGOT_{name}"] = "OFF"
        toolchain.cache_variables["INGOT_SHARED_LIBRARY"] = bool(self.options.shared)
        if not self.options.system_flatbuffers:
            headers = self.dependencies["flatbuffers"].cpp_info.includedirs[0]
            toolchain.cache_variables["INGOT_FLATBUFFERS_HEADERS"] = headers
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        for name in ("LICENSE", "NOTICE"):
            copy(self, name, self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        rmdir(self, os.path.join(self.package_folder, "share"))

    def package_info(self):
        # The CMake package that Ingot installs is right as it is.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "Ingot")]
