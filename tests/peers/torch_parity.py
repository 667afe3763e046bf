#!/usr/bin/env python3
"""Same network, same weights, same data: do our trainer and PyTorch have the same losses?

    torch_parity.py PARITY_EXPORT WORKLOAD DATA BATCH STEPS LEARNING_RATE [--break NAME]

Fails when a loss of training differs by more than 1e-4 relative, the test loss after it likewise,
or a weight at the end by more than 1e-3 of the largest of its parameter. --break adds 1 % to that
parameter first: then the comparison has to fail (a check of the check; exit code 0 if it did).
Exit code 77 where python3-torch is not installed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

LOSS_TOLERANCE, WEIGHT_TOLERANCE = 1e-4, 1e-3


def exported(options, folder):
    subprocess.run([options.program, options.workload, options.data, str(options.batch),
                    str(options.steps), str(options.lr), folder], check=True)
    with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
        index = json.load(file)
    with open(os.path.join(folder, "workload.json"), encoding="utf-8") as file:
        workload = json.load(file)
    with open(os.path.join(folder, "values.bin"), "rb") as file:
        raw = bytearray(file.read())
    values = {}
    for entry in index["values"]:
        kind = torch.float32 if entry["type"] == "f32" else torch.int32
        count = 1
        for side in entry["shape"]:
            count *= side
        values[entry["name"]] = torch.frombuffer(raw, dtype=kind, count=count,
                                                 offset=entry["offset"]).reshape(entry["shape"])
    return index, workload, values


def train(network, index, values, steps):
    optimizer = torch.optim.SGD(network.parameters(), lr=index["learning_rate"],
                                momentum=index["momentum"])
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = network(values[f"train.{step}.input"], values[f"train.{step}.labels"])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def evaluate(network, values):
    network.eval()
    total, count, batch = 0.0, 0, 0
    with torch.no_grad():
        while f"test.{batch}.input" in values:
            x = values[f"test.{batch}.input"]
            total += network(x, values[f"test.{batch}.labels"]).item() * len(x)
            count += len(x)
            batch += 1
    return total / count


def differences(options, folder):
    """Lines that tell what is too far apart, and the largest relative difference of a loss."""
    index, workload, values = exported(options, folder)
    network = Network(workload)
    for name, value in values.items():
        if name.startswith("start."):
            network.set_weight(name[len("start."):], value)
    if options.broken:
        with torch.no_grad():
            network.weights[options.broken].mul_(1.01)
    theirs, ours = train(network, index, values, options.steps), index["losses"]
    if len(ours) != options.steps:
        return [f"{len(ours)} losses of {options.steps} steps"], float("inf")
    found, worst = [], 0.0
    for step, (a, b) in enumerate(zip(ours, theirs)):
        relative = abs(a - b) / abs(b)
        worst = max(worst, relative)
        if not relative <= LOSS_TOLERANCE:
            found.append(f"step {step}: loss {a:.7g}, PyTorch {b:.7g}, off by {relative:.2g}")
    if theirs[-1] == theirs[0]:
        found.append("the loss never moves")
    tested = evaluate(network, values)
    relative = abs(index["test_loss"] - tested) / tested
    print(f"test loss {index['test_loss']:.7g}, PyTorch {tested:.7g}, off by {relative:.2g}")
    if not relative <= LOSS_TOLERANCE:
        found.append(f"test loss off by {relative:.2g}")
    furthest = 0.0
    for name, weight in network.weights.items():
        mine = values["end." + name]
        apart = (mine - weight.detach()).abs().max() / weight.detach().abs().max().clamp_min(1e-3)
        furthest = max(furthest, apart.item())
        if not apart <= WEIGHT_TOLERANCE:
            found.append(f"{name}: off by {apart.item():.2g} of its largest value")
    print(f"{options.workload}: {options.steps} losses from {ours[0]:.5g} to {ours[-1]:.5g}; "
          f"largest difference {worst:.2g}, of a weight {furthest:.2g}; "
          f"{index['backend']}, PyTorch {torch.__version__}")
    return found, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("workload")
    parser.add_argument("data")
    parser.add_argument("batch", type=int)
    parser.add_argument("steps", type=int)
    parser.add_argument("lr", type=float)
    parser.add_argument("--break", dest="broken")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="plimsoll-parity-") as folder:
        found, _ = differences(options, folder)
    for line in found:
        print(("as it must be: " if options.broken else "FAILED: ") + line)
    if options.broken and not found:
        print("FAILED: a parameter that is 1 % off was not noticed")
    return 1 if bool(found) != bool(options.broken) else 0


if __name__ == "__main__":
    try:
        import torch

        from torch_network import Network
    except ImportError as error:
        print(f"SKIPPED: {error}; apt-get install python3-torch (tools/test does with "
              "PLIMSOLL_PEERS=1)")
        sys.exit(77)
    sys.exit(main())
