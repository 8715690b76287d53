import { expect } from 'chai'
import fc from 'fast-check'
import sharp from 'sharp'
import { readPrompt } from '../../../src/providers/sandbox/scene/read-prompt.ts'
import { drawScene, kinds } from '../../../src/providers/sandbox/scene/scene.ts'

const { fontConfigurationFile } =
  await import('../../../src/providers/sandbox/font-configuration.ts')
const { renderPicture } = await import('../../../src/providers/sandbox/render.ts')
process.env['FONTCONFIG_FILE'] = fontConfigurationFile

const red = '#d8413a'
const black = '#2e2e38'
const blue = '#3f7fd0'

/** The elements of a prompt: subjects such as `2 cat #colour`, then places, time and colours. */
function read(prompt: string): string[] {
  const { things, places, time, colours } = readPrompt(prompt)
  return [
    ...things.map(({ name, colour = '', count }) => `${count} ${name} ${colour}`.trim()),
    ...places,
    ...(time === undefined ? [] : [time]),
    ...colours,
  ]
}

const cases: Record<string, string[]> = {
  'A lighthouse in a storm': ['1 lighthouse'],
  'a red house by the sea at night': [`1 house ${red}`, 'sea', 'night', red],
  'two cats and a bird': ['2 cat', '1 bird'],
  'three big blue birds': [`3 bird ${blue}`, blue],
  cats: ['3 cat'],
  'one black cat, a house': [`1 cat ${black}`, '1 house', black],
  'boats at sunset': ['3 boat', 'sunset'],
  'snow on the mountains of a city': ['mountains', 'town'],
  '900 lilies': ['9 flower'],
  'A fox in red and blue': [red, blue],
  'thoughts about justice': [],
  '': [],
}

const words =
  'red blue two three cat cats house lighthouse tree flowers bird boat fish sea mountains town night sunset sun fox'
const prompt = fc.oneof(
  fc.array(fc.constantFrom(...words.split(' ')), { maxLength: 12 }).map((some) => some.join(' ')),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc
    .tuple(fc.constantFrom(...words.split(' ')), fc.string())
    .map(([word, text]) => `${word} ${text}</svg>`),
)
const side = fc.integer({ min: 16, max: 400 })

describe('elements that the sandbox reads from a prompt', () => {
  for (const [text, wanted] of Object.entries(cases)) {
    it(text === '' ? 'nothing' : text, () => {
      expect(read(text)).to.deep.equal(wanted)
    })
  }

  it('is bounded, however long the prompt', () => {
    const { things } = readPrompt('nine red cats '.repeat(80_000))
    expect(things.length).to.be.at.most(6)
  })
})

describe('the pictures of the sandbox', function () {
  it('have the requested size and format for any prompt', () =>
    fc.assert(
      fc.asyncProperty(
        prompt,
        fc.nat(),
        side,
        side,
        fc.constantFrom('png' as const, 'jpeg' as const, 'webp' as const),
        async (text, seed, width, height, format) => {
          const picture = await renderPicture({ prompt: text, seed, width, height, format })
          const made = await sharp(picture).metadata()
          expect(made).to.include({ format, width, height })
        },
      ),
      { numRuns: 60 },
    ))

  it('have valid numbers and bounded markup', () => {
    fc.assert(
      fc.property(prompt, fc.nat(), side, side, (text, seed, width, height) => {
        const markup = drawScene({ prompt: text, seed, width, height, covered: 10 })
        expect(markup).to.not.match(/NaN|undefined|Infinity|null/)
        expect(markup.length).to.be.below(400_000)
      }),
      { numRuns: 200 },
    )
  })

  it('contain no text of the prompt in their markup', () => {
    const prompt = 'a cat <script>alert(1)</script> </svg>'
    const markup = drawScene({ prompt, seed: 1, width: 200, height: 200, covered: 0 })
    expect(markup).to.not.include('script').and.to.not.include('</svg>')
  })

  it('have the requested colour', async () => {
    const share = async (text: string) => {
      const request = { prompt: text, seed: 3, width: 256, height: 256, format: 'png' as const }
      const { data } = await sharp(await renderPicture(request))
        .raw()
        .toBuffer({ resolveWithObject: true })
      let found = 0
      for (let at = 0; at < data.length; at += 3) {
        const [r = 0, g = 0, b = 0] = data.subarray(at, at + 3)
        if (r > 150 && g < 110 && b < 110) found += 1
      }
      return found / (data.length / 3)
    }
    expect(await share('a red house')).to.be.above(0.06)
    expect(await share('a green house')).to.be.below(0.02)
  })

  it('are darker at night', async () => {
    const brightness = async (text: string) => {
      const request = { prompt: text, seed: 3, width: 128, height: 128, format: 'png' as const }
      const { channels } = await sharp(await renderPicture(request)).stats()
      return channels.reduce((sum, { mean }) => sum + mean, 0)
    }
    expect(await brightness('a house at night')).to.be.below((await brightness('a house')) / 1.6)
  })

  it('are abstract in the named colours if the prompt names no objects', async () => {
    const mean = async (text: string) => {
      const request = { prompt: text, seed: 5, width: 128, height: 128, format: 'png' as const }
      const { channels } = await sharp(await renderPicture(request)).stats()
      return channels.map((channel) => channel.mean)
    }
    const [red = 0, , blue = 0] = await mean('a fox in red')
    expect(red).to.be.above(blue + 20)
    const [otherRed = 0, , otherBlue = 0] = await mean('a fox in blue')
    expect(otherBlue).to.be.above(otherRed + 20)
  })

  it('contain each known object', () => {
    for (const name of Object.keys(kinds)) {
      const size = { width: 300, height: 300, covered: 20 }
      expect(drawScene({ prompt: `a ${name}`, seed: 1, ...size })).to.include('<g transform')
    }
  })

  it('place objects differently for each seed', () => {
    const scenes = [1, 2, 3, 4, 5, 6].map((seed) => {
      const size = { width: 512, height: 512, covered: 40 }
      return drawScene({ prompt: 'a red house by the sea', seed, ...size })
    })
    expect(new Set(scenes).size).to.equal(scenes.length)
  })
})
