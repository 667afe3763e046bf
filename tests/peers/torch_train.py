#!/usr/bin/env python3
"""Training steps of our built-in workloads in PyTorch, as a user would write them, timed.

    torch_train.py WORKLOAD --batch N --threads T --dtype f32|bf16 --steps N --warmup N
                   [--optimizer sgd|adamw] [--channels-last]

A step is: zero gradients, forward, loss, backward, update; the data is in memory and not changed.
Prints one JSON object: step times, parameters, first and last loss. Used by tools/compare_pytorch.
"""

import argparse
import json
import math
import time

import torch
import torch.nn.functional as F
from torch import nn


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024),
                         nn.ReLU(), nn.Linear(1024, 10))


def lenet():
    return nn.Sequential(nn.Conv2d(1, 20, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(20, 50, 5),
                         nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(800, 128), nn.ReLU(),
                         nn.Linear(128, 10))


class Residual(nn.Module):
    def __init__(self, before, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.skip = nn.Identity()
        if stride != 1:
            self.skip = nn.Sequential(nn.Conv2d(before, channels, 1, stride, bias=False),
                                      nn.BatchNorm2d(channels))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.relu(self.norm1(self.conv1(x)))
        return self.relu(self.norm2(self.conv2(y)) + self.skip(x))


def resnet18():
    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    before = 64
    for channels in (64, 128, 256, 512):
        layers += [Residual(before, channels, 1 if channels == 64 else 2),
                   Residual(channels, channels, 1)]
        before = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


LAYERS, WIDTH, HEADS, SEQUENCE, VOCABULARY = 4, 256, 4, 128, 256


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        later = torch.full((SEQUENCE, SEQUENCE), float("-inf")).triu(1)
        self.register_buffer("later", later, persistent=False)

    def forward(self, x):
        batch, positions, width = x.shape
        heads = self.qkv(self.norm1(x)).view(batch, positions, 3, HEADS, width // HEADS)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(2, 3) / math.sqrt(width // HEADS) + self.later).softmax(3)
        x = x + self.project((weights @ v).transpose(1, 2).reshape(batch, positions, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Parameter(torch.zeros(SEQUENCE, WIDTH))
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.blocks(self.embedding(tokens) + self.positions)
        return self.head(self.norm(x)).flatten(0, 1)


NETWORKS = {"mlp": (mlp, (1, 28, 28)), "lenet": (lenet, (1, 28, 28)),
            "resnet18": (resnet18, (3, 32, 32)), "gpt": (Gpt, None)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("workload", choices=NETWORKS)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--optimizer", choices=("sgd", "adamw"), default="sgd")
    parser.add_argument("--channels-last", action="store_true")
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    make, shape = NETWORKS[options.workload]
    network = make()
    if shape is None:
        x = torch.randint(VOCABULARY, (options.batch, SEQUENCE))
        labels = torch.roll(x, -1, 1).flatten()
    else:
        x = torch.randn(options.batch, *shape)
        labels = torch.randint(10, (options.batch,))
        if options.channels_last:
            network = network.to(memory_format=torch.channels_last)
            x = x.to(memory_format=torch.channels_last)
    if options.optimizer == "sgd":
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    else:
        optimizer = torch.optim.AdamW(network.parameters(), lr=3e-4)

    times, losses = [], []
    for step in range(options.warmup + options.steps):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=options.dtype == "bf16"):
            scores = network(x)
        loss = F.cross_entropy(scores.float(), labels)
        loss.backward()
        optimizer.step()
        end = time.perf_counter()
        losses.append(loss.item())
        if step >= options.warmup:
            times.append(end - begin)
    print(json.dumps({"torch": torch.__version__, "step_times_s": times,
                      "parameters": sum(p.numel() for p in network.parameters()),
                      "loss_first": losses[0], "loss_last": losses[-1]}))


if __name__ == "__main__":
    main()
