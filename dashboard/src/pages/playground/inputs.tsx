import { useEffect, useState } from 'preact/hooks'
import { dataUrlOf } from './gallery-store.ts'

/** A picture to edit or to show; `url` is a data URL. */
export type Input = { name: string; url: string }

/** No model takes larger ones. */
const bytesMax = 15 * 1024 * 1024

/** Pictures that were given, pasted or dropped; `fault` says why one was not taken. */
export function useInputs(most: number) {
  const [inputs, setInputs] = useState<readonly Input[]>([])
  const [fault, setFault] = useState<string>()
  const add = async (files: readonly Blob[]): Promise<void> => {
    const pictures = files.filter(({ type }) => type.startsWith('image/'))
    if (pictures.length === 0) return
    const small = pictures.filter(({ size }) => size <= bytesMax)
    const room = Math.max(0, most - inputs.length)
    setFault(
      small.length < pictures.length
        ? 'A picture may have 15 MB at most.'
        : small.length > room
          ? `No more than ${most} picture${most === 1 ? '' : 's'} with these models.`
          : undefined,
    )
    const read = await Promise.all(
      small.slice(0, room).map(async (file) => ({
        name: file instanceof File ? file.name : 'made here',
        url: await dataUrlOf(file),
      })),
    )
    setInputs((before) => [...before, ...read].slice(0, most))
  }
  useEffect(() => {
    const paste = (event: ClipboardEvent) => void add([...(event.clipboardData?.files ?? [])])
    addEventListener('paste', paste)
    return () => removeEventListener('paste', paste)
  })
  return {
    inputs: inputs.slice(0, most),
    /** All that were given, also where the models take fewer. */
    count: inputs.length,
    fault,
    add,
    remove: (index: number) => setInputs(inputs.filter((_, at) => at !== index)),
    clear: () => setInputs([]),
  }
}

type Props = Omit<ReturnType<typeof useInputs>, 'count'> & { label: string; most: number }

/** Takes pictures by file, paste and drop. */
export function Inputs({ inputs, fault, add, remove, label, most }: Props) {
  return (
    <div
      class="drop field"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        void add([...(event.dataTransfer?.files ?? [])])
      }}
    >
      <label>
        {label}
        <input
          type="file"
          accept="image/png,image/jpeg,image/webp"
          multiple={most > 1}
          onChange={(event) => {
            const { currentTarget: field } = event
            void add([...(field.files ?? [])]).finally(() => (field.value = ''))
          }}
        />
      </label>
      <p class="hint">Choose files, paste a picture, or drop it here. At most {most}.</p>
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
