#!/bin/sh
# Test kits of old start a ZooKeeper beside the broker; it needs none.
