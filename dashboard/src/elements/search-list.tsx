import { useEffect, useId, useRef, useState } from 'preact/hooks'

export type Option = { id: string; text: string; hint?: string | undefined }

type Props = {
  /** Label for screen readers. */
  label: string
  placeholder: string
  options: readonly Option[]
  /** Id of the option that is active at first. */
  chosen?: string
  onPick: (option: Option) => void
  /** An option made of the text itself. */
  optionOf?: (text: string) => Option | undefined
}

/** A search field above the options that contain all of its words; the arrow keys and Enter pick one. */
export function SearchList({ label, placeholder, options, chosen, onPick, optionOf }: Props) {
  const [text, setText] = useState('')
  const [wanted, setWanted] = useState(() => options.findIndex(({ id }) => id === chosen))
  const field = useRef<HTMLInputElement>(null)
  const id = useId()
  const own = optionOf?.(text.trim())
  const words = text.toLowerCase().split(/\s+/)
  const found = options.filter(({ id: name, text: title, hint = '' }) =>
    words.every((word) => `${name} ${title} ${hint}`.toLowerCase().includes(word)),
  )
  const shown = own === undefined ? found : [own, ...found]
  const active = Math.max(0, Math.min(wanted, shown.length - 1))
  useEffect(() => field.current?.focus(), [])
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const option = shown[active]
    if (step !== undefined) setWanted((active + step + shown.length) % Math.max(shown.length, 1))
    else if (event.key !== 'Enter') return
    else if (option !== undefined) onPick(option)
    // Enter sends no form that the list lies in.
    event.preventDefault()
  }
  return (
    <div class="search-list">
      <input
        ref={field}
        role="combobox"
        aria-label={label}
        aria-expanded={shown.length > 0}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={shown.length > 0 ? `${id}-${active}` : undefined}
        placeholder={placeholder}
        autoComplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value)
          setWanted(0)
        }}
        onKeyDown={press}
      />
      <Found {...{ id, label, shown, active, onPick }} />
    </div>
  )
}

type FoundProps = Pick<Props, 'label' | 'onPick'> & {
  id: string
  shown: readonly Option[]
  /** Index of the option that Enter picks. */
  active: number
}

function Found({ id, label, shown, active, onPick }: FoundProps) {
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => list.current?.children[active]?.scrollIntoView({ block: 'nearest' }))
  if (shown.length === 0) {
    return (
      <p class="quiet" role="status">
        Nothing matches.
      </p>
    )
  }
  return (
    <ul id={id} ref={list} role="listbox" aria-label={label}>
      {shown.map((option, index) => (
        <li
          key={option.id}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === active}
          // Keeps the focus in the field.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onPick(option)}
        >
          <span>{option.text}</span>
          {option.hint !== undefined && <span class="quiet">{option.hint}</span>}
        </li>
      ))}
    </ul>
  )
}
