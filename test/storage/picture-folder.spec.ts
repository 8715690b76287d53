import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { createPictureFolder } from '../../src/storage/picture-folder.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { mountSmallDisk } from '../support/small-disk.ts'

const name = 'a'.repeat(32)

describe('the folder of pictures', () => {
  let folder: TemporaryFolder
  beforeEach(() => void (folder = makeFolder()))
  afterEach(() => folder.remove())

  it('refuses a picture on a full disk, and leaves no part of it', async function () {
    const pictures = join(folder.path, 'pictures')
    mkdirSync(pictures)
    const unmount = mountSmallDisk(pictures)
    if (unmount === undefined) return this.skip()
    try {
      const place = createPictureFolder({ dataDir: folder.path, durability: 'normal' })
      const words = /pictures cannot be used: the disk is full\. .*free space on its disk\.$/
      expect(await place.check().catch(String)).to.match(words)
      const content = Buffer.alloc(1_000_000, 'picture')
      expect(await place.write(name, content).catch(String)).to.match(words)
      expect(readdirSync(join(pictures, 'aa'))).to.deep.equal([])
      await place.write(name, Buffer.from('small'))
      expect(String(await place.read(name, 10))).to.equal('small')
    } finally {
      unmount()
    }
  })

  it('names a path that is no folder', async () => {
    writeFileSync(join(folder.path, 'pictures'), '')
    const place = createPictureFolder({ dataDir: folder.path, durability: 'normal' })
    const words =
      /pictures cannot be used: (it is not a folder|a part of its path is not a folder)\. Give/
    expect(await place.check().catch(String)).to.match(words)
    expect(await place.write(name, Buffer.from('a')).catch(String)).to.match(words)
  })

  it('has no names that lead out of the folder', async () => {
    const place = createPictureFolder({ dataDir: folder.path, durability: 'normal' })
    for (const other of ['../gateway.key', '../'.repeat(11), name.toUpperCase(), ''])
      expect(await place.read(other, 10).catch(String), other).to.include(
        'not the name of a content',
      )
  })
})
