"""From a recorder's file to a picture of g2: python3 g2.py data/fixtures/pairs/1.tags.zst g2.png"""
import sys

import tagq

source, picture = sys.argv[1:]
run = tagq.open(source)
print(run)
g2 = run.g2(1, 2, range="5ns")
print(g2)
ax = g2.plot()
ax.set_title(f"{g2.run['tags']:,} tags of {g2.run['live_s']:.2g} s")
ax.figure.savefig(picture, dpi=150)
