#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that four processes of torch write together (torch.distributed.checkpoint, gloo),
read by ingot and compared with what torch puts together itself: FSDP with its optimizer, tensors
sharded by rows, columns and both, replicated ones, and the layout of Hugging Face.

  distributed_against_torch.py --ingot PATH [--work DIR]
"""

import os
import pathlib
import shutil
import socket
import sys
import warnings

import against_torch
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.checkpoint import state_dict as states

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, ingot_parser  # noqa: E402

RANKS = 4
# the folder, what torch put together, where that lies in the checkpoint
FOLDERS = [
    ("fsdp", "fsdp.pt", ("model",)),
    ("fsdp", "fsdp_optimizer.pt", ("optimizer",)),
    ("sharded", "sharded.pt", ()),
    ("safetensors", "several.pt", ()),
    ("consolidated/sharded", "several.pt", ()),
]


def network():
    torch.manual_seed(3)
    nn = torch.nn
    head = nn.Sequential(nn.Flatten(), nn.Linear(360, 7), nn.Linear(7, 5))
    return nn.Sequential(nn.Conv2d(3, 10, 3), nn.BatchNorm2d(10), nn.ReLU(), head)


def save_fsdp(work, mesh, rank):
    from torch.distributed.fsdp import fully_shard

    net = network()
    fully_shard(net, mesh=mesh)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    net(torch.ones(2, 3, 8, 8)).sum().backward()
    optimizer.step()
    model, trained = states.get_state_dict(net, optimizer)
    dcp.save({"model": model, "optimizer": trained, "step": 7}, checkpoint_id=work / "fsdp")
    whole = states.StateDictOptions(full_state_dict=True)
    model, trained = states.get_state_dict(net, optimizer, options=whole)
    if rank == 0:
        torch.save(model, work / "fsdp.pt")
        torch.save(trained, work / "fsdp_optimizer.pt")


def save_sharded(work, mesh, rank):
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("rows", "columns"))
    torch.manual_seed(5)
    plans = {
        "grid": (torch.randn(9, 7, 5), grid, [Shard(0), Shard(1)]),
        "columns": (torch.randn(6, 8).half(), mesh, [Shard(1)]),
        "few": (torch.arange(3.0), mesh, [Shard(0)]),
        "brain": (torch.randn(5, 3).bfloat16(), mesh, [Shard(0)]),
        "copied": (torch.arange(24.0).reshape(4, 6), grid, [Replicate(), Shard(1)]),
    }
    several = {name: distribute_tensor(*plan) for name, plan in plans.items()}
    alone = {
        "scalar": torch.tensor(2.5),
        "flags": torch.tensor([True, False]),
        "count": torch.arange(24).reshape(4, 6),
        "empty": torch.zeros(0, 4),
        "turned": torch.randn(4, 3).t(),
    }
    dcp.save({**several, **alone}, checkpoint_id=work / "sharded")
    for name, consolidates in (("safetensors", False), ("consolidated", True)):
        dist.barrier()
        writer = HuggingFaceStorageWriter(
            str(work / name), save_distributed=True, enable_consolidation=consolidates
        )
        dcp.save(several, storage_writer=writer)
    if rank == 0:
        whole = {name: plan[0] for name, plan in plans.items()}
        torch.save(whole, work / "several.pt")
        torch.save({**whole, **alone}, work / "sharded.pt")


def save(rank, work, port):
    warnings.simplefilter("ignore")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cpu", (RANKS,))
    save_fsdp(work, mesh, rank)
    save_sharded(work, mesh, rank)
    dist.barrier()
    dist.destroy_process_group()


def differences(ingot, folder, whole, below):
    """What ingot reads otherwise, and how many tensors there were."""
    ours, why = against_torch.by_ingot(ingot, folder)
    if ours is None:
        return [why], 0
    found = {tuple(t["path"]): (t["dtype"], list(t["dims"]), t["sha256"]) for t in ours}
    wrong, count = [], 0
    for path, tensor in against_torch.walk(torch.load(whole)):
        count += 1
        if found.get(below + path) != against_torch.facts(tensor):
            wrong.append("/".join(below + path))
    return wrong, count


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", type=pathlib.Path, default="build/distributed")
    a = parser.parse_args()
    work = a.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(save, (work, port), RANKS)
    checks = Checks("distributed_against_torch")
    for folder, whole, below in FOLDERS:
        wrong, count = differences(a.ingot, work / folder, work / whole, below)
        text = f"differ: {', '.join(wrong[:5])}"
        checks.check(count and not wrong, f"{folder}, against {whole}: {count} tensors", text)
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
