import { useEffect, useId, useState } from 'preact/hooks'
import { Icon } from '../../elements/icon.tsx'
import { dataUrlOf, dragged } from './gallery-store.ts'

/** An input picture of a request; `url` is a data URL. */
export type Input = { name: string; url: string }

/** Maximum size of an input picture, above the maximum of every model. */
const bytesMax = 15 * 1024 * 1024

/** Pictures that the person chose, pasted or dropped; `fault` is the reason why a picture was rejected. */
export function useInputs(most: number) {
  const [inputs, setInputs] = useState<readonly Input[]>([])
  const [fault, setFault] = useState<string>()
  const add = async (files: readonly Blob[]): Promise<void> => {
    const pictures = files.filter(({ type }) => type.startsWith('image/'))
    if (pictures.length === 0) return
    const small = pictures.filter(({ size }) => size <= bytesMax)
    // Models without inputs get one nevertheless, and the page names what they lack.
    const kept = Math.max(1, most)
    const free = Math.max(0, kept - inputs.length)
    setFault(
      small.length < pictures.length
        ? 'A picture must not exceed 15 MB.'
        : small.length > free
          ? `The chosen models accept at most ${kept} picture${kept === 1 ? '' : 's'}.`
          : undefined,
    )
    const read = await Promise.all(
      small.slice(0, free).map(async (file) => ({
        name: file instanceof File ? file.name : 'created here',
        url: await dataUrlOf(file),
      })),
    )
    setInputs((before) => [...before, ...read].slice(0, kept))
  }
  useEffect(() => {
    const paste = (event: ClipboardEvent) => void add([...(event.clipboardData?.files ?? [])])
    addEventListener('paste', paste)
    return () => removeEventListener('paste', paste)
  })
  return {
    inputs: inputs.slice(0, most),
    /** Number of pictures given, also when the models accept fewer. */
    count: inputs.length,
    fault,
    add,
    remove: (index: number) => setInputs(inputs.filter((_, at) => at !== index)),
    clear: () => setInputs([]),
  }
}

type Props = Omit<ReturnType<typeof useInputs>, 'count'> & { label: string; most: number }

/** A field for pictures: choose, paste or drop. */
export function Inputs({ inputs, fault, add, remove, label, most }: Props) {
  const [isOver, setOver] = useState(false)
  const id = useId()
  return (
    <div
      class="field"
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        void add(dragged.value ? [dragged.value] : [...(event.dataTransfer?.files ?? [])])
      }}
    >
      <label class={isOver || dragged.value ? 'drop over' : 'drop'}>
        <Icon name="picture" />
        <span>
          {label}
          <span class="hint" id={id}>
            Drop pictures here, also results, paste them, or choose files. At most {most}.
          </span>
        </span>
        <input
          class="hidden"
          type="file"
          accept="image/png,image/jpeg,image/webp"
          multiple={most > 1}
          aria-label={label}
          aria-describedby={id}
          onChange={(event) => {
            const { currentTarget: field } = event
            void add([...(field.files ?? [])]).finally(() => (field.value = ''))
          }}
        />
      </label>
      {fault !== undefined && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      {inputs.length > 0 && (
        <ul class="thumbs">
          {inputs.map(({ name, url }, index) => (
            <li key={`${name} ${index}`}>
              <img src={url} alt={name} />
              <button
                type="button"
                class="plain small"
                aria-label={`Remove ${name}`}
                onClick={() => remove(index)}
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
