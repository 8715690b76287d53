import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import sharp from 'sharp'
import type { RenderRequest } from '../../../src/providers/sandbox/pictures.ts'

// Imported dynamically, since FONTCONFIG_FILE must be set before the first text is rendered.
const { fontConfigurationFile } =
  await import('../../../src/providers/sandbox/font-configuration.ts')
const { renderPicture } = await import('../../../src/providers/sandbox/render.ts')
process.env['FONTCONFIG_FILE'] = fontConfigurationFile

const fox: RenderRequest = {
  prompt: 'A red fox & <her> "cubs" in the snow · 狐 😀 мир',
  seed: 42,
  width: 320,
  height: 240,
  format: 'png',
}

function decode(picture: Buffer) {
  return sharp(picture).raw().toBuffer({ resolveWithObject: true })
}

async function averageDifference(one: Buffer, other: Buffer): Promise<number> {
  const [left, right] = [(await decode(one)).data, (await decode(other)).data]
  expect(left.length).to.equal(right.length)
  let sum = 0
  for (let index = 0; index < left.length; index += 1) {
    sum += Math.abs((left[index] ?? 0) - (right[index] ?? 0))
  }
  return sum / left.length
}

function plain(background: string, width: number, height: number) {
  return sharp({ create: { width, height, channels: 3, background } })
}

describe('sandbox pictures: size and format', function () {
  const cases: [number, number, RenderRequest['format']][] = [
    [16, 16, 'png'],
    [16, 16, 'jpeg'],
    [16, 16, 'webp'],
    [17, 33, 'webp'],
    [64, 64, 'png'],
    [1024, 1024, 'png'],
    [1536, 1024, 'jpeg'],
    [1024, 1536, 'webp'],
    [384, 3072, 'png'],
    [16, 8192, 'jpeg'],
    [8192, 16, 'webp'],
    [12288, 1536, 'png'],
    [4096, 4096, 'png'],
  ]
  for (const [width, height, format] of cases) {
    it(`${width}x${height} ${format}`, async () => {
      const picture = await renderPicture({ ...fox, width, height, format })
      expect((await sharp(picture).metadata()).format).to.equal(format)
      const { info } = await decode(picture)
      expect([info.width, info.height, info.channels]).to.deep.equal([width, height, 3])
    })
  }

  it('keeps a large picture small on disk', async () => {
    const picture = await renderPicture({ ...fox, width: 4096, height: 4096 })
    expect(picture.length).to.be.below(3_000_000)
  })

  it('makes larger jpeg and webp files with higher quality', async () => {
    for (const format of ['jpeg', 'webp'] as const) {
      const worst = await renderPicture({ ...fox, format, quality: 0 })
      const best = await renderPicture({ ...fox, format, quality: 100 })
      expect(worst.length).to.be.below(best.length)
    }
  })
})

describe('sandbox pictures: determinism', () => {
  it('gives the same bytes for the same input', async () => {
    for (const format of ['png', 'jpeg', 'webp'] as const) {
      const one = await renderPicture({ ...fox, format })
      const other = await renderPicture({ ...fox, format })
      expect(one.equals(other)).to.equal(true)
    }
  })

  it('gives a visibly different picture for another seed or prompt', async () => {
    const seeds = [1, 2, 3, 4, 5, 6, 7, 8]
    const pictures = await Promise.all(seeds.map((seed) => renderPicture({ ...fox, seed })))
    pictures.push(await renderPicture({ ...fox, prompt: 'A blue fox' }))
    for (const [index, one] of pictures.entries()) {
      for (const other of pictures.slice(index + 1)) {
        expect(await averageDifference(one, other)).to.be.above(5)
      }
    }
  })

  it('draws with the shipped font only, quietly and without writing a cache', async function () {
    const folder = dirname(fontConfigurationFile)
    const before = readdirSync(folder).toSorted()
    const script = `
      const { renderPicture } = await import('./src/providers/sandbox/render.ts')
      process.stdout.write(await renderPicture(${JSON.stringify(fox)}))`
    const child = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: fileURLToPath(new URL('../../../', import.meta.url)),
      env: { HOME: '', FONTCONFIG_PATH: '/nonexistent', FONTCONFIG_FILE: fontConfigurationFile },
    })
    expect(child.stderr.toString()).to.equal('')
    expect(child.status).to.equal(0)
    const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
    expect(digest(child.stdout)).to.equal(digest(await renderPicture(fox)))
    expect(readdirSync(folder).toSorted()).to.deep.equal(before)
    expect(before).to.deep.equal(['DejaVuSans-Bold.ttf', 'LICENSE', 'fonts.conf', 'origin.json'])
  })
})

describe('sandbox pictures: awkward prompts', () => {
  const prompts: Record<string, string> = {
    'XML specials': `</text></svg>&amp;&#0;<![CDATA[ "'> ]]> <!-- `,
    emoji: '🦊👩‍👩‍👧‍👦🏳️‍🌈'.repeat(40),
    Chinese: '雪地里的一只红狐狸'.repeat(60),
    'right to left': 'ثعلب أحمر في الثلج \u202e reversed שועל',
    'stacked accents': `Z${'\u0301'.repeat(3000)}`,
    '100,000 characters': 'word '.repeat(20_000),
    'one long word': 'W'.repeat(100_000),
    'control characters': 'a\u0000b\u0007c\u001b[31m\u0085\u2028\uffff\ufffe\u{1ffff}\t\r\n',
    'a lone surrogate': 'a\ud800b\udc00',
    'a pair at the cut': '😀'.repeat(2000),
    'only spaces': ' \n\t ',
    empty: '',
  }
  for (const [name, prompt] of Object.entries(prompts)) {
    it(name, async () => {
      for (const width of [48, 240]) {
        const { info } = await decode(await renderPicture({ ...fox, prompt, width }))
        expect([info.width, info.height]).to.deep.equal([width, 240])
      }
    })
  }

  it('writes the prompt into the picture', async () => {
    // The region is inside the dark panel, where only the prompt's text is white.
    const region = { left: 20, top: 190, width: 280, height: 35 }
    const written = await sharp(await renderPicture(fox))
      .extract(region)
      .toBuffer()
    const { channels } = await sharp(written).stats()
    expect(Math.min(...channels.map(({ max }) => max))).to.be.above(240)
  })
})

describe('sandbox pictures: transparency', () => {
  for (const format of ['png', 'webp'] as const) {
    it(`leaves the corners of a ${format} clear`, async () => {
      const { data, info } = await decode(
        await renderPicture({ ...fox, format, transparent: true }),
      )
      expect(info.channels).to.equal(4)
      const alpha = (x: number, y: number) => data[(y * info.width + x) * 4 + 3]
      expect(alpha(0, 0)).to.equal(0)
      expect(alpha(info.width - 1, info.height - 1)).to.equal(0)
      expect(alpha(info.width / 2, info.height / 2)).to.equal(255)
    })
  }

  it('is ignored for jpeg', async () => {
    const picture = await renderPicture({ ...fox, format: 'jpeg', transparent: true })
    expect((await decode(picture)).info.channels).to.equal(3)
  })
})

describe('sandbox pictures: edits', () => {
  const edit = { ...fox, prompt: 'add a cat' }
  const colourAt = async (picture: Buffer, across: number, down: number) => {
    const { data, info } = await decode(picture)
    const [x, y] = [Math.round(info.width * across), Math.round(info.height * down)]
    return data.readUIntBE((y * info.width + x) * info.channels, 3)
  }
  const magenta = 0xff00ff

  it('shows the first source as large as it can be, and the prompt on it', async () => {
    const source = await plain('#ff00ff', 640, 480).png().toBuffer()
    const picture = await renderPicture({ ...edit, sources: [source] })
    for (const [across, down] of [
      [0.01, 0.02],
      [0.5, 0.1],
      [0.99, 0.5],
    ] as const) {
      expect(await colourAt(picture, across, down)).to.equal(magenta)
    }
    const bare = await decode(await plain('#ff00ff', 320, 240).png().toBuffer())
    const { data } = await decode(picture)
    const changed = bare.data.filter((value, index) => value !== data[index]).length
    expect(changed / bare.data.length).to.be.within(0.02, 0.4)
  })

  it('fills the space beside a source of another shape with a blurred one', async () => {
    const source = await plain('#ff00ff', 100, 400).png().toBuffer()
    const picture = await renderPicture({ ...edit, sources: [source] })
    expect(await colourAt(picture, 0.02, 0.1)).to.equal(magenta)
  })

  it('changes the light of a source when the prompt names no objects', async () => {
    const source = await plain('#808080', 320, 240).png().toBuffer()
    const pictures = ['make it night', 'at sunset', 'better please'].map((prompt) =>
      renderPicture({ ...fox, prompt, sources: [source] }),
    )
    for (const picture of await Promise.all(pictures)) {
      expect(
        await averageDifference(picture, await plain('#808080', 320, 240).png().toBuffer()),
      ).above(8)
    }
  })

  it('shows every further source as a tile', async () => {
    const first = await plain('#ff00ff', 200, 200).webp().toBuffer()
    const second = await plain('#00ff00', 200, 200).png().toBuffer()
    const { data, info } = await decode(await renderPicture({ ...edit, sources: [first, second] }))
    let green = 0
    for (let index = 0; index < data.length; index += info.channels) {
      if (data.readUIntBE(index, 3) === 0x00ff00) green += 1
    }
    expect(green).to.be.above(500)
  })

  it('rotates a source by its orientation and accepts grey, CMYK and 16-bit pictures', async () => {
    const halves = { input: await plain('#00ff00', 200, 100).png().toBuffer(), left: 0, top: 0 }
    const sources = await Promise.all([
      plain('#c33', 400, 100)
        .composite([halves])
        .jpeg()
        .withMetadata({ orientation: 6 })
        .toBuffer(),
      plain('#c33', 40, 30).toColourspace('b-w').png().toBuffer(),
      plain('#c33', 40, 30).toColourspace('cmyk').jpeg().toBuffer(),
      plain('#c33', 40, 30).toColourspace('rgb16').png().toBuffer(),
      plain('#c33', 1, 3000).gif().toBuffer(),
    ])
    for (const source of sources) await renderPicture({ ...edit, sources: [source] })
    const turned = await renderPicture({ ...edit, sources: sources.slice(0, 1) })
    const [top, bottom] = [await colourAt(turned, 0.5, 0.2), await colourAt(turned, 0.5, 0.75)]
    // The green left half is rotated to the top.
    expect((top >> 8) & 255).to.be.above(200)
    expect(top >> 16).to.be.below(60)
    expect(bottom >> 16).to.be.above(150)
  })

  it('places sixteen sources in any size', async () => {
    const source = await plain('#ff00ff', 30, 20).png().toBuffer()
    const sources = Array.from({ length: 16 }, () => source)
    for (const [width, height] of [
      [16, 16],
      [16, 2048],
      [2048, 16],
      [300, 200],
    ] as const) {
      const picture = await renderPicture({ ...fox, width, height, sources, transparent: true })
      const { info } = await decode(picture)
      expect([info.width, info.height]).to.deep.equal([width, height])
    }
  })
})
