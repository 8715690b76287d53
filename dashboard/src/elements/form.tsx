import type { ComponentProps } from 'preact'

type Props = Omit<ComponentProps<'form'>, 'onSubmit'> & {
  /** Sends the form's data, and shows its own failures. */
  send: (filled: FormData, form: HTMLFormElement) => Promise<void> | void
}

/** A form that is sent without leaving the page. */
export function Form({ send, ...attributes }: Props) {
  return (
    <form
      {...attributes}
      onSubmit={(event) => {
        event.preventDefault()
        void send(new FormData(event.currentTarget), event.currentTarget)
      }}
    />
  )
}
