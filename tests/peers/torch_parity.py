#!/usr/bin/env python3
"""Same network, same weights, same data: do our trainer and PyTorch have the same losses?

    torch_parity.py PARITY_EXPORT WORKLOAD DATA BATCH STEPS LEARNING_RATE
                    [--optimizer NAME] [--smooth] [--beside-f64] [--break NAME]

Fails when a loss of training differs by more than 1e-4 relative, the test loss after it likewise,
or a weight at the end by more than 1e-3 of the largest of its parameter.

A deep network of relus is chaotic: one that rounding turns on or off changes a gradient by a part
in hundreds, in PyTorch as in ours. Two ways to compare it all the same:
  --smooth      the network with gelu in place of every relu: rounding has small effects again, and
                every other operator is compared to the full tolerance;
  --beside-f64  the network as it is, PyTorch in f64 as the truth: fails when our losses are further
                from it than 1e-4 and than four times what PyTorch's own f32 was at most until then.

--break adds 1 % to that parameter first: then the comparison has to fail (a check of the check;
exit code 0 if it did). Exit code 77 where python3-torch is not installed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

LOSS_TOLERANCE, WEIGHT_TOLERANCE, TIMES_PEER = 1e-4, 1e-3, 4


def export(options, workload, folder):
    subprocess.run([options.program, workload, options.data, str(options.batch),
                    str(options.steps), str(options.lr), options.optimizer, folder], check=True)


def exported(options, folder):
    export(options, options.workload, folder)
    if options.smooth:
        path = os.path.join(folder, "smooth.json")
        with open(os.path.join(folder, "workload.json"), encoding="utf-8") as file:
            workload = json.load(file)
        for operator in workload["operators"]:
            operator["kind"] = operator["kind"].replace("relu", "gelu")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(workload, file)
        export(options, path, folder)
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


def network_of(workload, values):
    network = Network(workload)
    for name, value in values.items():
        if name.startswith("start."):
            network.set_weight(name[len("start."):], value)
    return network


def train(network, index, values, steps):
    if index["optimizer"] == "sgd":
        optimizer = torch.optim.SGD(network.parameters(), lr=index["learning_rate"],
                                    momentum=index["momentum"])
    else:
        rule = torch.optim.AdamW if index["optimizer"] == "adamw" else torch.optim.Adam
        optimizer = rule(network.parameters(), lr=index["learning_rate"], weight_decay=0.0)
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


def compare_losses(ours, theirs):
    found, worst = [], 0.0
    for step, (a, b) in enumerate(zip(ours, theirs)):
        relative = abs(a - b) / abs(b)
        worst = max(worst, relative)
        if not relative <= LOSS_TOLERANCE:
            found.append(f"step {step}: loss {a:.7g}, PyTorch {b:.7g}, off by {relative:.2g}")
    return found, worst


def compare_beside_f64(ours, theirs, truth):
    found, worst, allowed = [], 0.0, LOSS_TOLERANCE
    for step, (a, b, exact) in enumerate(zip(ours, theirs, truth)):
        mine, peer = abs(a - exact) / abs(exact), abs(b - exact) / abs(exact)
        worst, allowed = max(worst, mine), max(allowed, TIMES_PEER * peer)
        print(f"step {step:2d}: loss {exact:.7g} in f64; ours off by {mine:.1e}, PyTorch's f32 by "
              f"{peer:.1e}")
        if not mine <= allowed:
            found.append(f"step {step}: loss {a:.7g}, in f64 {exact:.7g}, off by {mine:.2g}")
    return found, worst


def compare_weights(network, values, tolerance):
    found, furthest = [], 0.0
    for name, weight in network.weights.items():
        mine = values["end." + name]
        apart = (mine - weight.detach()).abs().max() / weight.detach().abs().max().clamp_min(1e-3)
        furthest = max(furthest, apart.item())
        if not apart <= tolerance:
            found.append(f"{name}: off by {apart.item():.2g} of its largest value")
    return found, furthest


def in_f64(index, workload, values, steps):
    wide = {name: value.double() if value.is_floating_point() else value
            for name, value in values.items()}
    return train(network_of(workload, wide), index, wide, steps)


def differences(options, folder):
    """Lines that tell what is too far apart."""
    index, workload, values = exported(options, folder)
    network = network_of(workload, values)
    if options.broken:
        with torch.no_grad():
            network.weights[options.broken].mul_(1.01)
    theirs, ours = train(network, index, values, options.steps), index["losses"]
    if len(ours) != options.steps:
        return [f"{len(ours)} losses of {options.steps} steps"]
    about = (f"{options.workload}: {options.steps} losses from {ours[0]:.5g} to {ours[-1]:.5g}; "
             f"{index['backend']}, PyTorch {torch.__version__}; largest difference")
    if options.beside_f64:
        truth = in_f64(index, workload, values, options.steps)
        found, worst = compare_beside_f64(ours, theirs, truth)
        print(f"{about} from f64 {worst:.2g}")
        return found
    found, worst = compare_losses(ours, theirs)
    if theirs[-1] == theirs[0]:
        found.append("the loss never moves")
    tested = evaluate(network, values)
    relative = abs(index["test_loss"] - tested) / tested
    if not relative <= LOSS_TOLERANCE:
        found.append(f"test loss {index['test_loss']:.7g}, PyTorch {tested:.7g}")
    weights, furthest = compare_weights(network, values, options.weight_tolerance)
    print(f"{about} {worst:.2g}, of the test loss {relative:.2g}, of a weight {furthest:.2g}")
    return found + weights


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("workload")
    parser.add_argument("data")
    parser.add_argument("batch", type=int)
    parser.add_argument("steps", type=int)
    parser.add_argument("lr", type=float)
    parser.add_argument("--optimizer", choices=("sgd", "adam", "adamw"), default="sgd")
    parser.add_argument("--smooth", action="store_true")
    parser.add_argument("--beside-f64", action="store_true")
    parser.add_argument("--weight-tolerance", type=float, default=WEIGHT_TOLERANCE)
    parser.add_argument("--break", dest="broken")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="plimsoll-parity-") as folder:
        found = differences(options, folder)
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
