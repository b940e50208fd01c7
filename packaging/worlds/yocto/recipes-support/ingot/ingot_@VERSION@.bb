SUMMARY = "Inference runtime: one file, one arena"
DESCRIPTION = "Runs trained networks from one memory-mapped file in one preallocated arena."
SECTION = "libs"
LICENSE = "Apache-2.0"
LIC_FILES_CHKSUM = "file://LICENSE;md5=@LICENSE_MD5@"

SRC_URI = "file://ingot-${PV}.tar.xz"
DEPENDS = "flatbuffers flatbuffers-native"

inherit cmake pkgconfig

# Conversion is for hosts; GPU code needs NVIDIA's compiler.
EXTRA_OECMAKE = "-DINGOT_TOOLS=OFF -DINGOT_TESTS=OFF -DINGOT_CUDA=OFF -DINGOT_SHARED_LIBRARY=ON \
    -DINGOT_FLATBUFFERS_HEADERS=${STAGING_INCDIR} -DINGOT_FLATC=${STAGING_BINDIR_NATIVE}/flatc"

FILES:${PN}-staticdev += "${libdir}/libingot*.a"
BBCLASSEXTEND = "native nativesdk"
