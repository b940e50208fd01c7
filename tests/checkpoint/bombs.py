# SPDX-License-Identifier: Apache-2.0
"""The files of bombs_test.py: MAKERS has a function for each, which writes it to a path."""

import json
import struct
import tempfile
import zipfile
import zlib

MEGABYTE = 1 << 20
MEMBER = 96 * MEGABYTE  # of a deflated bomb


def number(value, size):
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def write_zip(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)


def zip_bytes(members, method=zipfile.ZIP_DEFLATED):
    with tempfile.TemporaryFile() as file:
        write_zip(file, members, method)
        file.seek(0)
        return file.read()


def overlapping_zip(path, name_of, content, count):
    """Every member of the directory is the same deflated bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(content) + packer.flush()
    sizes = struct.pack("<III", zlib.crc32(content), len(packed), len(content))
    first = name_of(0).encode()
    local = b"PK\3\4" + struct.pack("<HHHHH", 20, 0, 8, 0, 0x21) + sizes
    body = local + struct.pack("<HH", len(first), 0) + first + packed
    directory = b""
    for i in range(count):
        name = name_of(i).encode()
        directory += b"PK\1\2" + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 0x21) + sizes
        directory += struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0) + name
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(body), 0)
    path.write_bytes(body + directory + b"PK\5\6" + end)


def npy(descr, shape, content=b"", pad=0):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    text = text + " " * pad + "\n"
    return b"\x93NUMPY\2\0" + number(len(text), 4) + text.encode() + content


def torch_members(pickle, more=()):
    return [("a/data.pkl", b"\x80\x02" + pickle + b"."), ("a/version", b"3\n"), *more]


def tensor_pickle(elements, key=b"0"):
    """torch._utils._rebuild_tensor_v2 of one storage of that many floats."""
    text = lambda s: b"X" + number(len(s), 4) + s
    persistent = b"(" + text(b"storage") + b"ctorch\nFloatStorage\n" + text(key) + text(b"cpu")
    persistent += b"J" + number(elements, 4) + b"tQ"
    size = b"(J" + number(elements, 4) + b"t(K\x01t"
    empty = b"ccollections\nOrderedDict\n)R"
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n("
        + persistent
        + b"K\0"
        + size
        + b"\x89"
        + empty
        + b"tR"
    )


# --- HDF5, objects of version 2


def message(kind, body):
    return number(kind, 1) + number(len(body), 2) + b"\0" + body


def header(*messages):
    body = b"".join(messages)
    return b"OHDR\2\2" + number(len(body), 4) + body + b"\0\0\0\0"


def link(name, address):
    name = name.encode()
    return message(6, b"\1\1" + number(len(name), 2) + name + number(address, 8))


def space(*dims):
    return message(1, b"\2" + number(len(dims), 1) + b"\0\1" + b"".join(number(d, 8) for d in dims))


def text_type(size):
    return b"\x13\0\0\0" + number(size, 4)


F32 = b"\x11\x20\x1f\0" + number(4, 4) + bytes([0, 0, 32, 0, 23, 8, 0, 23]) + number(127, 4)


def contiguous(address, size):
    return message(8, b"\3\1" + number(address, 8) + number(size, 8))


def attribute(name, kind, dims, content):
    name = name.encode() + b"\0"
    extents = b"\2" + number(len(dims), 1) + b"\0\1" + b"".join(number(d, 8) for d in dims)
    sizes = number(len(name), 2) + number(len(kind), 2) + number(len(extents), 2)
    return message(12, b"\3\0" + sizes + b"\0" + name + kind + extents + content)


def h5(objects, tail=b"", opening=b""):
    """`objects`: address -> bytes, with the root at `len(opening) + 48` at the latest."""
    root = min(objects)
    content = bytearray(max(a + len(b) for a, b in objects.items()))
    for address, body in objects.items():
        content[address : address + len(body)] = body
    content += tail
    head = b"\x89HDF\r\n\x1a\n\2\x08\x08\0" + number(0, 8) + number(-1, 8)
    head += number(len(content), 8) + number(root, 8) + b"\0\0\0\0"
    content[: len(head)] = head
    return bytes(content)


# --- the files

MAKERS = {}


def bomb(ending):
    def register(make):
        MAKERS[make.__name__ + ending] = make
        return make

    return register


@bomb(".npz")
def deflated_array(path):
    write_zip(path, [("x.npy", npy("<f4", (MEMBER // 4,), bytes(MEMBER)))])


@bomb(".npz")
def deflated_headers(path):
    write_zip(path, [(f"x{i}.npy", npy("<f4", (1,), bytes(4), 65000)) for i in range(3000)])


@bomb(".npz")
def arrays_over_each_other(path):
    overlapping_zip(path, lambda i: f"{i:05}.npy", npy("<f4", (1 << 18,), bytes(1 << 20)), 200)


@bomb(".npz")
def many_members(path):
    write_zip(path, [(f"{i}.npy", npy("<f4", (0,))) for i in range(60000)], zipfile.ZIP_STORED)


@bomb(".npz")
def array_of_everything(path):
    write_zip(path, [("x.npy", npy("<f4", (1 << 60,)))])


@bomb(".npy")
def shape_of_ones(path):
    path.write_bytes(npy("<f4", "(" + "1," * 30000 + ")", bytes(4)))


@bomb(".pth")
def deflated_pickle(path):
    write_zip(path, torch_members(b"(" + b"N" * MEMBER + b"l"))


@bomb(".pth")
def deflated_storage(path):
    write_zip(path, torch_members(tensor_pickle(MEMBER // 4), [("a/data/0", bytes(MEMBER))]))


@bomb(".pth")
def storages_that_are_missing(path):
    write_zip(path, torch_members(b"(" + tensor_pickle(1 << 28) * 2000 + b"l"))


@bomb(".pth")
def tensors_that_share(path):
    pickle = tensor_pickle(4) + b"q\x010(" + b"h\x01" * 400000 + b"l"
    write_zip(path, torch_members(pickle, [("a/data/0", bytes(16))]), zipfile.ZIP_STORED)


@bomb(".pth")
def lists_in_lists(path):
    write_zip(path, torch_members(b"]" * 200000 + b"a" * 199999))


@bomb(".pth")
def lists_that_double(path):
    pickle = b"(K\x01lq\x000"
    for i in range(60):
        pickle += b"(h" + bytes([i]) + b"h" + bytes([i]) + b"lq" + bytes([i + 1]) + b"0"
    write_zip(path, torch_members(pickle + b"h" + bytes([60])))


@bomb(".pth")
def list_in_itself(path):
    write_zip(path, torch_members(b"]q\0h\0a" * 1000 + b"(" + b"h\0" * 100000 + b"l"))


@bomb(".pth")
def long_keys(path):
    key = b"X" + number(1 << 16, 4) + b"k" * (1 << 16) + b"q\0"
    write_zip(path, torch_members(b"((" + key + b"K\x01d" + b"(h\0K\x01d" * 50000 + b"l"))


@bomb(".pth")
def modules_in_modules(path):
    """Each module's name is long, and each lies in the one before."""
    name = b"X" + number(4096, 4) + b"m" * 4096 + b"q\0"
    module = b"ca\nB\n)\x81"
    state = b"}(X\x0b\0\0\0_parameters}X\x08\0\0\0_modules}"
    body = module + state + name
    body += b"".join(module + state + b"h\0" for _ in range(3000)) + b"N" + b"ssub" * 3001
    write_zip(path, torch_members(body))


@bomb(".pth")
def persistent_ids(path):
    write_zip(path, torch_members(b"(" + b"NQ" * 2000000 + b"l"))


@bomb(".pth")
def whole_numbers(path):
    digits = b"\x8a\x40" + b"\x7f" * 64
    write_zip(path, torch_members(b"(" + digits * 100000 + b"l"))


@bomb(".pt2")
def program_of_lists(path):
    write_zip(
        path, [("m/archive_format", b"pt2"), ("m/models/m.json", b"[" + b"[]," * 20000000 + b"[]]")]
    )


@bomb(".pt2")
def program_of_spaces(path):
    write_zip(
        path, [("m/archive_format", b"pt2"), ("m/models/m.json", b"{" + b" " * MEMBER + b"}")]
    )


@bomb(".pt2")
def archives_in_archives(path):
    inner = zip_bytes(torch_members(b"(" + b"N" * MEMBER + b"l"))
    state = zip_bytes([("serialized_state_dict.pt", inner)])
    write_zip(
        path,
        [
            ("serialized_exported_program.json", b"{}"),
            ("serialized_state_dict.pt", inner),
            ("serialized_constants.pt", state),
        ],
    )


@bomb(".pt2")
def weights_over_each_other(path):
    entry = {
        "path_name": "w",
        "is_param": True,
        "use_pickle": False,
        "tensor_meta": {
            "dtype": 7,
            "sizes": [{"as_int": 1 << 20}],
            "strides": [{"as_int": 1}],
            "layout": 7,
            "storage_offset": {"as_int": 0},
            "device": {"type": "cpu", "index": None},
        },
    }
    config = {"config": {f"w{i}": entry for i in range(20000)}}
    write_zip(
        path,
        [
            ("m/archive_format", b"pt2"),
            ("m/models/m.json", b"{}"),
            ("m/byteorder", b"little"),
            ("m/data/weights/m_weights_config.json", json.dumps(config)),
            ("m/data/weights/w", bytes(4 << 20)),
        ],
    )


@bomb(".pt2")
def zip_of_zips(path):
    content = bytes(MEMBER)
    for i in range(6):
        content = zip_bytes([(f"level{i}", content)])
    write_zip(path, [("m/archive_format", b"pt2"), ("m/models/m.json", content)])


@bomb(".keras")
def deflated_configuration(path):
    write_zip(
        path,
        [
            ("config.json", b"[" + b"[]," * 20000000 + b"[]]"),
            ("metadata.json", b"{}"),
            ("model.weights.h5", h5({48: header()})),
        ],
    )


@bomb(".keras")
def layers_without_end(path):
    layer = {"class_name": "Sequential", "config": {"name": "s", "layers": []}}
    for _ in range(40):
        layer = {"class_name": "Sequential", "config": {"name": "s", "layers": [layer]}}
    write_zip(
        path,
        [
            ("config.json", json.dumps(layer)),
            ("metadata.json", b"{}"),
            ("model.weights.h5", h5({48: header()})),
        ],
    )


@bomb(".keras")
def deflated_weights(path):
    body = h5(
        {
            48: header(link("x", 512)),
            512: header(space(MEMBER), message(3, text_type(1)), contiguous(1024, MEMBER)),
            1023: b"\0",
        },
        bytes(MEMBER),
    )
    write_zip(path, [("config.json", b"{}"), ("metadata.json", b"{}"), ("model.weights.h5", body)])


@bomb(".h5")
def texts_of_one_byte(path):
    size = 3 << 20
    path.write_bytes(
        h5(
            {
                48: header(link("x", 512)),
                512: header(space(size), message(3, text_type(1)), contiguous(1024, size)),
                1023: b"\0",
            },
            b"x" * size,
        )
    )


@bomb(".h5")
def attributes(path):
    one = attribute("a", text_type(1), [60000], b"x" * 60000)
    path.write_bytes(h5({48: header(*[one] * 200)}))


@bomb(".h5")
def texts_of_nothing(path):
    one = attribute("a", text_type(0), [1 << 20], b"")
    path.write_bytes(h5({48: header(*[one] * 200)}, bytes(1 << 20)))


@bomb(".h5")
def links_to_one_dataset(path):
    links = [link(f"x{i}", 48 + 4000000) for i in range(100000)]
    path.write_bytes(
        h5(
            {
                48: header(*links),
                4000048: header(
                    space(4),
                    message(3, F32),
                    contiguous(48, 16),
                    *[attribute(f"a{i}", F32, [1], bytes(4)) for i in range(100)],
                ),
            }
        )
    )


@bomb(".h5")
def groups_in_a_circle(path):
    path.write_bytes(
        h5(
            {
                48: header(*[link(f"g{i}", a) for i, a in enumerate((48, 4096 * 1024) * 20000)]),
                4000000: header(link("up", 48)),
                4096 * 1024: header(link("up", 48)),
            }
        )
    )


@bomb(".h5")
def long_continuations(path):
    """Blocks of messages that lie over each other."""
    fill = b"".join(attribute("a", F32, [1], bytes(4)) for _ in range(20000))
    blocks = [
        message(16, number(4096 + 50 * i, 8) + number(len(fill) - 50 * i, 8)) for i in range(500)
    ]
    path.write_bytes(h5({48: header(*blocks), 32768: b"OCHK" + fill}))


@bomb(".h5")
def dataset_of_everything(path):
    chunked = message(8, b"\3\2\2" + number(-1, 8) + number(1 << 20, 4) + number(4, 4))
    path.write_bytes(
        h5({48: header(link("x", 512)), 512: header(space(1 << 40), message(3, F32), chunked)})
    )


@bomb(".h5")
def chunk_of_everything(path):
    chunked = message(
        8,
        b"\4\2\2\2\x08"
        + number(1 << 40, 8)
        + number(4, 8)
        + b"\1"
        + number(16, 8)
        + b"\0\0\0\0"
        + number(2048, 8),
    )
    pipe = message(11, b"\2\1" + number(1, 2) + number(0, 2) + number(0, 2))
    path.write_bytes(
        h5(
            {
                48: header(link("x", 512)),
                512: header(space(1 << 20), message(3, F32), chunked, pipe),
                2048: zlib.compress(bytes(4096)),
            }
        )
    )


@bomb(".h5")
def deep_groups(path):
    objects = {48 + 64 * i: header(link("g", 48 + 64 * (i + 1))) for i in range(20000)}
    path.write_bytes(h5({**objects, 48 + 64 * 20000: header()}))


@bomb(".jld2")
def julia_references(path):
    opening = b"HDF5-based Julia Data Format, version 0.1.1 (Julia 1.10)".ljust(512, b"\0")
    refs = 200000
    body = h5(
        {
            48: header(link("x", 512)),
            512: header(
                space(refs), message(3, b"\x17\0\0\0" + number(8, 4)), contiguous(1024, 8 * refs)
            ),
            1023: b"\0",
        },
        number(512, 8) * refs,
    )
    body = bytearray(body)
    body[20:28] = number(0, 8)
    body[12:20] = number(512, 8)  # addresses begin behind the opening
    path.write_bytes(opening + bytes(body))


def document(*values):
    body = b"".join(kind + name.encode() + b"\0" + content for kind, name, content in values)
    return number(len(body) + 5, 4) + body + b"\0"


def text(value):
    return number(len(value) + 1, 4) + value.encode() + b"\0"


@bomb(".bson")
def nothings(path):
    path.write_bytes(
        document((b"\4", "x", number(5 + 2 * 4000000, 4) + b"\x0a\0" * 4000000 + b"\0"))
    )


@bomb(".bson")
def documents_in_documents(path):
    inner = document()
    for _ in range(5000):
        inner = document((b"\3", "x", inner))
    path.write_bytes(inner)


@bomb(".bson")
def references_that_double(path):
    refs = []
    for i in range(1, 41):
        one = document((b"\2", "tag", text("backref")), (b"\x12", "ref", number(max(i - 1, 1), 8)))
        leaf = document(
            (b"\2", "tag", text("tuple")),
            (b"\4", "data", document((b"\3", "0", one), (b"\3", "1", one))),
        )
        refs.append((b"\3", str(i), document((b"\x10", "v", number(1, 4))) if i == 1 else leaf))
    last = document((b"\2", "tag", text("backref")), (b"\x12", "ref", number(40, 8)))
    path.write_bytes(document((b"\3", "x", last), (b"\4", "_backrefs", document(*refs))))


@bomb(".safetensors")
def header_of_lists(path):
    inside = b'{"a":[' + b"[]," * 6000000 + b"[]]}"
    path.write_bytes(number(len(inside), 8) + inside)


@bomb(".safetensors")
def tensors_of_nothing(path):
    one = '"t%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'
    inside = ("{" + ",".join(one % i for i in range(200000)) + "}").encode()
    path.write_bytes(number(len(inside), 8) + inside)


@bomb(".gguf")
def arrays_of_bytes(path):
    fact = number(1, 8) + b"k" + number(9, 4) + number(0, 4) + number(3000000, 8) + b"\1" * 3000000
    path.write_bytes(b"GGUF" + number(3, 4) + number(0, 8) + number(2, 8) + fact + fact)


@bomb(".gguf")
def arrays_in_arrays(path):
    inner = number(9, 4) + number(1, 8)
    path.write_bytes(
        b"GGUF"
        + number(3, 4)
        + number(0, 8)
        + number(1, 8)
        + number(1, 8)
        + b"k"
        + number(9, 4)
        + inner * 100000
    )


@bomb(".index.json")
def index_of_one_shard(path):
    shard = path.parent / "shard.safetensors"
    inside = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    shard.write_bytes(number(len(inside), 8) + inside + bytes(4))
    path.write_text(json.dumps({"weight_map": {f"a{i}": shard.name for i in range(100000)}}))


@bomb(".index.json")
def index_of_itself(path):
    path.write_text(json.dumps({"weight_map": {"a": path.name}}))
